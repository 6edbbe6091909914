"""One key for every spelling of a file, links followed."""

import errno
import os
import random
from pathlib import Path

import pyarrow as pa
import pytest

from iceberg_spark.errors import StorageError
from iceberg_spark.io import location
from iceberg_spark.io.places import Places


def test_a_column_gets_the_keys_of_its_locations() -> None:
    paths = [
        "s3a://b//k",
        "s3://b/k",
        "/a/./b",
        "file:/a/b",
        "x",
        "",
        "/",
        "/a/",
        "/a/..",
        "a\nb/c",
    ]
    assert Places().keys(pa.array(paths)).to_pylist() == [Places().key(each) for each in paths]


@pytest.mark.parametrize("left", ["hdfs://nn:8020/a/b", "hdfs:///a/b", "hdfs:/a/b"])
def test_a_host_that_is_left_out_may_be_any(left: str) -> None:
    assert Places().key(left) == Places().key("hdfs://nn//a/b")


@pytest.mark.parametrize(
    ("left", "right"),
    [("/a%20b/c", "/a b/c"), ("s3://a/k", "s3://b/k"), ("s3://a/k", "gs://a/k"), ("/a/B", "/a/b")],
)
def test_two_files_have_two_keys(left: str, right: str) -> None:
    assert Places().key(left) != Places().key(right)


def test_a_folder_that_cannot_be_listed_is_an_error_and_a_missing_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a link in it would have a key of its own, in this look only."""
    (tmp_path / "f").touch()
    for folder in ("none", "f", "x" * 300, "nul\0"):
        assert Places().key(f"{tmp_path}/{folder}/k") == f"file:{tmp_path}/{folder}/k"

    def refused(_: str) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(StorageError, match="Too many open files"):
        Places().key(f"{tmp_path}/k")


@pytest.mark.parametrize("seed", range(4))
def test_random_local_spellings_have_one_key_where_the_operating_system_has_one_file(
    tmp_path: Path, seed: int
) -> None:
    """Brute force: the real path of what is opened."""
    rnd = random.Random(seed)
    names = ["a", "b", "c%20", "c ", "é"]
    folders = [tmp_path]
    for _ in range(12):
        made = rnd.choice(folders) / rnd.choice(names)
        if rnd.random() < 0.3 and not made.exists():
            made.symlink_to(rnd.choice(folders))
        made.mkdir(exist_ok=True)
        folders.append(made)
    for number in range(20):
        file = rnd.choice(folders) / f"f{number % 7}"
        if not os.path.lexists(file):
            file.symlink_to(tmp_path / "f0") if rnd.random() < 0.3 else file.touch()
    steps = [*names, "..", ".", "", *names]
    paths = [
        rnd.choice(["", "file:", "file://", "FILE:"])
        + "/".join([str(tmp_path), *rnd.choices(steps, k=rnd.randrange(5)), f"f{rnd.randrange(8)}"])
        for _ in range(300)
    ]
    keys = Places().keys(pa.array(paths)).to_pylist()
    real = [f"file:{os.path.realpath(location.strip_scheme(path))}" for path in paths]
    assert keys == real
