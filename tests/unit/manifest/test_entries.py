"""Entry tables to values and back."""

import uuid
from decimal import Decimal
from pathlib import Path

import pytest

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.manifest.entries import data_files, entry_table, manifest_entries
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.types import StructType
from tests.builders import data_file, equality_deletes
from tests.unit.manifest.manifests import ALL_KINDS, EXISTING, FULL, entry, identity_spec

VALUES = (
    True, 1, 2**40, 0.5, -0.5, Decimal("1.25"), Decimal("-7.0000000001"), 19_000, 86_399_999_999,
    -1, 1_700_000_000_000_000, -1, 1_700_000_000_000_000_123, "ä", uuid.UUID(int=7), b"abc", b"",
)  # fmt: skip


def test_values_of_every_partition_type_come_back() -> None:
    kind = partition_type(identity_spec(ALL_KINDS), ALL_KINDS)
    files = [
        data_file("a", partition=VALUES, partition_spec_id=3, **FULL),
        data_file("b", partition=(None,) * len(VALUES), partition_spec_id=3),
    ]
    entries = [
        entry(file=files[0]),
        entry(EXISTING, files[1], snapshot_id=1, data_sequence_number=2),
    ]
    assert manifest_entries(entry_table(entries, kind), 3, kind) == entries


def test_some_columns_make_files_that_know_no_more() -> None:
    table = entry_table([entry(file=data_file(**FULL))], StructType()).select(
        ["content", "file_path", "file_format", "partition", "record_count", "file_size_in_bytes"]
    )
    assert data_files(table, 0, StructType()) == [data_file()]


def test_equality_ids_and_format_are_values(tmp_path: Path) -> None:
    table = entry_table([entry(file=equality_deletes([2, 1]))], StructType())
    found = data_files(table, 0, StructType())[0]
    assert found.equality_ids == (2, 1) and found.file_format is FileFormat.PARQUET


def test_an_unknown_file_format_names_the_file() -> None:
    table = entry_table([entry(file=data_file("f.xyz"))], StructType())
    at = table.column_names.index("file_format")
    odd = table.set_column(at, "file_format", [["LANCE"]])
    with pytest.raises(CorruptFileError, match=r"f\.xyz.*FileFormat: LANCE"):
        data_files(odd, 0, StructType())
