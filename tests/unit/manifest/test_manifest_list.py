"""Manifest lists of every version (specification: "Manifest Lists")."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import read_manifest_list as pyiceberg_reads

from iceberg_spark.errors import CorruptFileError, InvalidInputError, NoSuchFileError
from iceberg_spark.manifest.manifest_list import (
    LIST_SCHEMA,
    read_manifest_list,
    read_manifest_list_columns,
    write_manifest_list,
)
from iceberg_spark.spec.manifest_file import FieldSummary, ManifestContent, ManifestFile
from tests.builders import metadata, snapshot
from tests.unit.manifest.manifests import ADDED, IO, ONE, entry, paths, written

COUNTS: dict[str, Any] = {
    "added_files_count": 1, "existing_files_count": 0, "deleted_files_count": 0,
    "added_rows_count": 10, "existing_rows_count": 0, "deleted_rows_count": 0,
}  # fmt: skip
SUMMARY = FieldSummary(True, False, b"\x01", None)
NEW = ManifestFile("/m1.avro", 100, 0, added_snapshot_id=7, partitions=(SUMMARY,), **COUNTS)
OLD = ManifestFile("/m0.avro", 50, 0, ManifestContent.DELETES, 2, 1, 3, partitions=(), **COUNTS)
TABLE = metadata(ONE)


def _written(folder: Path, *manifests: ManifestFile, format_version: int = 2, **rest: Any) -> Any:
    path = str(folder / "snap.avro")
    made = snapshot(7, 4, manifest_list=path, parent_snapshot_id=3, **rest)
    rows = write_manifest_list(IO, path, made, manifests, format_version=format_version)
    return made, rows


def test_new_manifests_get_the_snapshots_number_and_old_ones_keep_theirs(tmp_path: Path) -> None:
    made, rows = _written(tmp_path, NEW, OLD)
    assert rows == read_manifest_list(IO, made, TABLE)
    assert rows == (replace(NEW, sequence_number=4, min_sequence_number=4), OLD)


def test_a_new_manifest_of_older_data_keeps_its_least_number(tmp_path: Path) -> None:
    _, rows = _written(tmp_path, replace(NEW, min_sequence_number=2))
    assert (rows[0].sequence_number, rows[0].min_sequence_number) == (4, 2)


def test_a_retry_changes_only_the_list(tmp_path: Path) -> None:
    manifest = written(tmp_path, [entry(ADDED)], snapshot_id=7)
    before = Path(manifest.manifest_path).read_bytes()
    for number in (4, 5):
        path = str(tmp_path / f"snap-{number}.avro")
        made = snapshot(7, number, manifest_list=path)
        rows = write_manifest_list(IO, path, made, [manifest], format_version=2)
        assert rows[0].sequence_number == number
    assert Path(manifest.manifest_path).read_bytes() == before


def test_a_version_1_list_reads_with_numbers_zero(tmp_path: Path) -> None:
    made, _ = _written(tmp_path, NEW, format_version=1)
    stored = fastavro.reader(io.BytesIO(Path(str(made.manifest_list)).read_bytes()))
    assert not {"content", "sequence_number", "min_sequence_number"} & set(next(iter(stored)))
    assert "sequence-number" not in stored.metadata
    assert read_manifest_list(IO, made, TABLE) == (
        replace(NEW, sequence_number=0, min_sequence_number=0),
    )


def test_a_version_3_list_has_first_row_ids(tmp_path: Path) -> None:
    row = replace(NEW, first_row_id=1000)
    made, _ = _written(tmp_path, row, format_version=3, first_row_id=1000)
    assert read_manifest_list(IO, made, TABLE)[0].first_row_id == 1000


def test_the_key_values_name_snapshot_and_parent(tmp_path: Path) -> None:
    made, _ = _written(tmp_path, NEW)
    stored = fastavro.reader(io.BytesIO(Path(str(made.manifest_list)).read_bytes())).metadata
    assert (stored["snapshot-id"], stored["parent-snapshot-id"]) == ("7", "3")
    assert (stored["sequence-number"], stored["format-version"]) == ("4", "2")


def test_pyiceberg_reads_the_list_and_its_manifest(tmp_path: Path) -> None:
    manifest = written(tmp_path, [entry(file=file) for file in paths(3)], snapshot_id=7)
    made, _ = _written(tmp_path, manifest)
    files = PyArrowFileIO()
    theirs = list(pyiceberg_reads(files.new_input(str(made.manifest_list))))
    assert [one.sequence_number for one in theirs] == [4]
    entries = theirs[0].fetch_manifest_entry(files)
    assert [one.data_file.file_path for one in entries] == [one.file_path for one in paths(3)]
    assert {one.sequence_number for one in entries} == {4}


def test_a_very_old_snapshot_names_its_manifests_itself(tmp_path: Path) -> None:
    entries = [entry(file=file) for file in paths(2)]
    manifest = written(tmp_path, entries, format_version=1, snapshot_id=7)
    made = snapshot(7, 0, manifest_list=None, manifests=(manifest.manifest_path,))
    found = read_manifest_list(IO, made, metadata(ONE, format_version=1))
    assert found == (replace(manifest, sequence_number=0, min_sequence_number=0),)
    assert read_manifest_list_columns(IO, made, metadata(ONE, format_version=1)).num_rows == 1


def test_the_list_is_read_as_columns(tmp_path: Path) -> None:
    made, _ = _written(tmp_path, NEW, OLD)
    table = read_manifest_list_columns(IO, made, TABLE)
    assert table.column_names == LIST_SCHEMA.names
    assert table.column("content").to_pylist() == [0, 1]
    assert table.column("partitions").to_pylist()[0][0]["lower_bound"] == b"\x01"


def test_an_empty_list_is_read(tmp_path: Path) -> None:
    made, _ = _written(tmp_path)
    assert read_manifest_list(IO, made, TABLE) == ()


def test_a_manifest_of_another_snapshot_needs_its_number(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="added by snapshot 6, not by 7"):
        _written(tmp_path, replace(NEW, added_snapshot_id=6))


def test_unknown_counts_are_refused_in_version_2_and_kept_in_version_1(tmp_path: Path) -> None:
    bare = replace(NEW, added_files_count=None)
    with pytest.raises(InvalidInputError, match="lacks added_files_count"):
        _written(tmp_path, bare)
    made, _ = _written(tmp_path, bare, format_version=1)
    assert read_manifest_list(IO, made, TABLE)[0].added_files_count is None


def test_delete_manifests_are_refused_in_version_1(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="format version 1"):
        _written(tmp_path, OLD, format_version=1)


def test_a_missing_or_foreign_list_is_named(tmp_path: Path) -> None:
    gone = snapshot(7, 4, manifest_list=str(tmp_path / "gone.avro"))
    with pytest.raises(NoSuchFileError, match=r"gone\.avro"):
        read_manifest_list(IO, gone, TABLE)
    other = written(tmp_path, [entry()])
    wrong = snapshot(7, 4, manifest_list=other.manifest_path)
    with pytest.raises(CorruptFileError, match=r"m0\.avro is not a manifest list"):
        read_manifest_list(IO, wrong, TABLE)


def test_a_manifest_of_a_spec_that_the_table_has_not_is_named(tmp_path: Path) -> None:
    made, _ = _written(tmp_path, replace(NEW, partition_spec_id=9))
    for read in (read_manifest_list, read_manifest_list_columns):
        with pytest.raises(CorruptFileError, match=r"snap\.avro .*spec 9, which"):
            read(IO, made, TABLE)
