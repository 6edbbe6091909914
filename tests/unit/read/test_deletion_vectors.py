"""Deletion vectors: which rows they take, what is read for it, and what is refused by name."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.formats.puffin import read_puffin
from iceberg_spark.read import deletion_vectors
from iceberg_spark.read.deletion_vectors import load_vector
from iceberg_spark.scan.task import DeleteFile
from tests.builders import field, schema
from tests.limits import set_limits
from tests.unit.read.files import IO, context, equality_deletes, read, task, vectors, write

TABLE = schema(field(1, "id", "long"))


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "data", TABLE, [{"id": i} for i in range(10)], row_group_size=4)


def live(path: str, *deletes: DeleteFile, cache: BoundedCache | None = None) -> list[int]:
    found = read(context(TABLE), task(path, delete_files=deletes), cache)
    return found.column("id").to_pylist()


def changed(delete: DeleteFile, at: int, byte: int) -> DeleteFile:
    """The same vector with a byte of its blob changed."""
    stored = bytearray(IO.read_bytes(delete.file_path))
    stored[(delete.content_offset or 0) + at] ^= byte
    IO.replace(delete.file_path, bytes(stored))
    return delete


def test_a_vector_takes_its_positions(data: str, tmp_path: Path):
    other, mine = vectors(tmp_path / "v", {"/other": [1, 2, 3], data: [0, 4, 9]})
    assert live(data, mine) == [1, 2, 3, 5, 6, 7, 8]
    with pytest.raises(CorruptFileError, match=r"v at byte 4 is of /other"):
        live(data, other)


def test_a_vector_and_equality_deletes_add_up(data: str, tmp_path: Path):
    (mine,) = vectors(tmp_path / "v", {data: [0, 1]})
    keys = equality_deletes(tmp_path / "e", TABLE, [{"id": 5}])
    assert live(data, mine, keys) == [2, 3, 4, 6, 7, 8, 9]


def test_parts_of_a_file_find_their_rows_in_its_vector(data: str, tmp_path: Path):
    (mine,) = vectors(tmp_path / "v", {data: [3, 4, 5, 8]})
    whole, cut = task(data, delete_files=(mine,)), IO.size(data) // 2
    parts = [
        replace(whole, start=start, length=length)
        for start, length in ((0, cut), (cut, whole.length))
    ]
    found = [read(context(TABLE), each).column("id").to_pylist() for each in parts]
    assert found[0] + found[1] == [0, 1, 2, 6, 7, 9]


@pytest.mark.parametrize("deleted", [[], list(range(10)), [2, 10, 11, 2**33, 2**40]])
def test_vectors_that_java_reads_are_read(data: str, tmp_path: Path, deleted: list[int]):
    (mine,) = vectors(tmp_path / "v", {data: deleted})
    assert live(data, mine) == [each for each in range(10) if each not in deleted]


def test_vectors_of_one_file_are_kept_apart(tmp_path: Path):
    paths = [write(tmp_path / f"d{n}", TABLE, [{"id": i} for i in range(4)]) for n in range(3)]
    deletes = vectors(tmp_path / "v", {path: [n] for n, path in enumerate(paths)})
    cache = BoundedCache()
    for _ in range(2):
        found = [live(path, each, cache=cache) for path, each in zip(paths, deletes, strict=True)]
        assert found == [[1, 2, 3], [0, 2, 3], [0, 1, 3]]


def test_a_vector_without_puffins_marks_is_read(data: str, tmp_path: Path):
    (mine,) = vectors(tmp_path / "v", {data: [1]})
    begin = mine.content_offset or 0
    blob = IO.read_bytes(mine.file_path)[begin : begin + (mine.content_size_in_bytes or 0)]
    IO.replace(mine.file_path, blob)
    bare = replace(mine, content_offset=0, file_size_in_bytes=len(blob))
    assert live(data, bare) == [0, *range(2, 10)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"record_count": 4}, "has 3 positions, not 4"),
        ({"content_offset": 5}, "no blob of the file"),
        ({"content_offset": 10**6}, "no blob of the file"),
        ({"content_offset": -3}, "no blob of the file"),
        ({"content_size_in_bytes": 2**50}, "no blob of the file"),
        ({"content_offset": None}, "lacks its offset"),
        ({"referenced_data_file": None}, "is of None"),
    ],
)
def test_metadata_that_lies_is_refused(data: str, tmp_path: Path, change: dict, reason: str):
    (mine,) = vectors(tmp_path / "v", {data: [0, 4, 9]})
    with pytest.raises(CorruptFileError, match=rf"{re.escape(str(tmp_path / 'v'))} .*{reason}"):
        live(data, replace(mine, **change))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"content_offset": 5}, "is not a deletion vector"),
        ({"content_offset": 10**6}, "ends"),
        ({"content_offset": -3}, "has no"),
        ({"content_size_in_bytes": 2**50}, "has no"),
    ],
)
def test_a_place_outside_of_a_file_whose_footer_is_long_is_refused(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict, reason: str
):
    set_limits(monkeypatch, read_puffin, "PUFFIN", tail_bytes=30)
    (mine,) = vectors(tmp_path / "v", {data: [0, 4, 9]})
    assert live(data, mine) == [1, 2, 3, 5, 6, 7, 8]
    with pytest.raises(CorruptFileError, match=rf"{re.escape(str(tmp_path / 'v'))}.*{reason}"):
        live(data, replace(mine, **change))


@pytest.mark.parametrize(
    ("at", "reason"),
    [(0, "its length field is"), (4, "lacks the mark"), (20, "its checksum"), (-1, "its checksum")],
)
def test_a_damaged_vector_is_refused(data: str, tmp_path: Path, at: int, reason: str):
    (mine,) = vectors(tmp_path / "v", {data: [0, 4, 9]})
    place = at if at >= 0 else (mine.content_size_in_bytes or 0) + at
    with pytest.raises(CorruptFileError, match=rf"{re.escape(str(tmp_path / 'v'))}.*{reason}"):
        live(data, changed(mine, place, 0x40))


def test_a_vector_of_another_file_is_refused_by_the_footer(data: str, tmp_path: Path):
    other, _ = vectors(tmp_path / "v", {"/other": [1, 2, 3], data: [0, 4, 9]})
    swapped = replace(other, referenced_data_file=data)
    with pytest.raises(CorruptFileError, match=r"is a deletion-vector-v1 of another file.*/other"):
        live(data, swapped)


def test_a_file_that_is_cut_off_is_refused(data: str, tmp_path: Path):
    (mine,) = vectors(tmp_path / "v", {data: [0, 4, 9]})
    stored = IO.read_bytes(mine.file_path)
    for length in (0, 3, 20, len(stored) - 1):
        IO.replace(mine.file_path, stored[:length])
        with pytest.raises(CorruptFileError, match=re.escape(mine.file_path)):
            live(data, mine)


def test_a_file_that_is_gone_is_named(data: str, tmp_path: Path):
    (mine,) = vectors(tmp_path / "v", {data: [0]})
    IO.delete(mine.file_path)
    with pytest.raises(NoSuchFileError, match=re.escape(mine.file_path)):
        live(data, mine)


class Counted:
    """Storage that counts how often a file is opened."""

    def __init__(self) -> None:
        self.opened = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(IO, name)

    def open(self, path: str) -> Any:
        self.opened += 1
        return IO.open(path)


@pytest.mark.parametrize(
    ("run_bytes", "kept", "opened"),
    [(1 << 20, 1 << 22, 2), (1, 1 << 22, 6), (1 << 20, 0, 10)],
    ids=["small ones", "large ones", "nothing is kept"],
)
def test_vectors_that_lie_together_are_read_at_once(
    tmp_path: Path, run_bytes: int, kept: int, opened: int, monkeypatch: pytest.MonkeyPatch
):
    set_limits(monkeypatch, deletion_vectors, "PUFFIN", run_bytes=run_bytes)
    wanted = {f"/d{number}": [number, number + 10] for number in range(5)}
    io, cache = Counted(), BoundedCache(kept)
    for path, file in zip(wanted, vectors(tmp_path / "v", wanted), strict=True):
        whole = replace(task(write(tmp_path / "x", TABLE, [{"id": 1}])), record_count=100)
        found = load_vector(io, file, replace(whole, file_path=path), cache)
        assert found.positions().tolist() == wanted[path]
    assert io.opened == opened
