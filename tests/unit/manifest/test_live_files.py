"""The live files of many manifests, decoded together."""

from pathlib import Path

import pytest

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.manifest.reader import live_files
from tests.builders import data_file
from tests.unit.manifest.manifests import ADDED, DELETED, EXISTING, entry, written


def contents(folder: Path, *files: tuple[str, object], version: int = 2) -> tuple[str, bytes]:
    entries = [
        entry(status, data_file(path=path), data_sequence_number=1, file_sequence_number=1)
        for path, status in files
    ]
    folder.mkdir()
    path = written(folder, entries, format_version=version).manifest_path
    return path, Path(path).read_bytes()


def paths(*manifests: tuple[str, bytes]) -> list[str]:
    return [path for table in live_files(manifests) for path in table.column(0).to_pylist()]


def test_added_and_existing_files_are_live_and_deleted_ones_are_not(tmp_path: Path) -> None:
    one = contents(tmp_path / "1", ("a", ADDED), ("b", DELETED), ("c", EXISTING))
    two = contents(tmp_path / "2", ("d", EXISTING))
    assert paths(one, two) == ["a", "c", "d"]


def test_manifests_of_one_schema_are_decoded_together(tmp_path: Path) -> None:
    many = [contents(tmp_path / str(n), (f"f{n}", ADDED)) for n in range(5)]
    assert len(list(live_files(many))) == 1
    assert paths(*many) == [f"f{n}" for n in range(5)]


def test_manifests_of_several_versions_come_in_their_order(tmp_path: Path) -> None:
    old = contents(tmp_path / "1", ("a", ADDED), version=1)
    new = contents(tmp_path / "2", ("b", ADDED))
    assert paths(old, new, old) == ["a", "b", "a"]


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    good = contents(tmp_path / "1", ("a", ADDED))
    path, data = contents(tmp_path / "2", ("b", ADDED))
    broken = bytearray(data)
    broken[-30] ^= 0xFF
    with pytest.raises(CorruptFileError, match=str(tmp_path / "2")):
        paths(good, (path, bytes(broken)))
