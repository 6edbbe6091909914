"""Inheritance on read (specification: "Sequence Number Inheritance")."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.manifest.reader import (
    check_data_sequence_number,
    inherited_first_row_id,
    inherited_sequence_number,
    inherited_snapshot_id,
)
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from tests.unit.manifest.manifests import ADDED, DELETED, EXISTING, entry, read, written

MANIFEST = ManifestFile("/m.avro", 1, 0, sequence_number=8, added_snapshot_id=80)


def _numbers(*values: int | None) -> Any:
    return pa.array(values, pa.int64())


def _status(*values: int) -> Any:
    return pa.array([int(value) for value in values], pa.int32())


def _sequence(number: int | None, status: int, manifest: ManifestFile = MANIFEST) -> Any:
    return inherited_sequence_number(_numbers(number), _status(status), manifest).to_pylist()[0]


def test_a_new_file_inherits_the_manifests_numbers() -> None:
    assert _sequence(None, ADDED) == 8


@pytest.mark.parametrize("status", [EXISTING, DELETED])
def test_existing_and_deleted_files_keep_their_own(status: int) -> None:
    assert _sequence(3, status) == 3


@pytest.mark.parametrize("status", [EXISTING, DELETED])
def test_existing_and_deleted_files_never_inherit(status: int) -> None:
    assert _sequence(None, status) is None


def test_an_existing_file_without_a_number_is_corrupt() -> None:
    with pytest.raises(CorruptFileError, match=r"/m\.avro.*data sequence number"):
        check_data_sequence_number(_numbers(None, 1), _status(EXISTING, ADDED), MANIFEST)
    check_data_sequence_number(_numbers(None, 1), _status(DELETED, ADDED), MANIFEST)


def test_a_compacted_file_keeps_its_older_data_number_and_inherits_the_file_number(
    tmp_path: Path,
) -> None:
    manifest = written(tmp_path, [entry(ADDED, data_sequence_number=3)])
    row = read(replace(manifest, sequence_number=8)).to_pylist()[0]
    assert (row["data_sequence_number"], row["file_sequence_number"]) == (3, 8)


@pytest.mark.parametrize("status", [ADDED, EXISTING, DELETED])
def test_all_entries_of_a_v1_manifest_have_number_zero(status: int) -> None:
    assert _sequence(None, status, replace(MANIFEST, sequence_number=0)) == 0


def test_an_uncommitted_manifest_leaves_numbers_open() -> None:
    assert _sequence(None, ADDED, replace(MANIFEST, sequence_number=None)) is None


def test_a_null_snapshot_id_is_the_manifests() -> None:
    assert inherited_snapshot_id(_numbers(None, 5), MANIFEST).to_pylist() == [80, 5]


def test_first_row_ids_are_counted_on_from_the_manifests() -> None:
    manifest = replace(MANIFEST, first_row_id=1000)
    ids = inherited_first_row_id(
        _numbers(None, 7, None, None),
        _numbers(10, 20, 30, 40),
        _status(ADDED, EXISTING, DELETED, ADDED),
        manifest,
    )
    assert ids.to_pylist() == [1000, 7, None, 1010]


def test_without_a_manifests_first_row_id_there_is_none() -> None:
    assert inherited_first_row_id(
        _numbers(7), _numbers(1), _status(ADDED), MANIFEST
    ).to_pylist() == [None]
    deletes = replace(MANIFEST, content=ManifestContent.DELETES, first_row_id=5)
    kept = inherited_first_row_id(_numbers(None), _numbers(1), _status(ADDED), deletes)
    assert kept.to_pylist() == [None]
