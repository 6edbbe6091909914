"""Written manifests: their form per version and what their manifest list row says."""

import io
import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro
import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.manifest_file import FieldSummary, ManifestContent
from iceberg_spark.spec.schema import Schema
from tests.builders import data_file, equality_deletes, position_deletes, schema
from tests.unit.manifest.manifests import (
    ADDED,
    ALL_KINDS,
    DELETED,
    EXISTING,
    FULL,
    ONE,
    entry,
    identity_spec,
    read,
    written,
)


def _reader(path: str) -> Any:
    return fastavro.reader(io.BytesIO(Path(path).read_bytes()))


def _schema(path: str) -> Any:
    return json.loads(_reader(path).metadata["avro.schema"])


def test_new_entries_leave_their_numbers_null_in_the_file(tmp_path: Path) -> None:
    row = next(iter(_reader(written(tmp_path, [entry()]).manifest_path)))
    assert row["sequence_number"] is None and row["file_sequence_number"] is None
    assert row["status"] == 1 and row["snapshot_id"] == 5


def test_the_key_values_are_those_of_the_specification(tmp_path: Path) -> None:
    manifest = written(tmp_path, [], ALL_KINDS, spec=identity_spec(ALL_KINDS))
    stored = _reader(manifest.manifest_path).metadata
    assert json.loads(stored["schema"])["type"] == "struct" and stored["schema-id"] == "0"
    assert json.loads(stored["partition-spec"])[0] == {
        "name": "p_c1", "transform": "identity", "source-id": 1, "field-id": 1000
    }  # fmt: skip
    assert stored["partition-spec-id"] == "0" and stored["format-version"] == "2"
    assert stored["content"] == "data" and stored["avro.codec"] == "deflate"


def test_version_1_has_its_own_form(tmp_path: Path) -> None:
    manifest = written(tmp_path, [entry(file=data_file(**FULL))], format_version=1)
    reader = _reader(manifest.manifest_path)
    row = next(iter(reader))
    assert set(row) == {"status", "snapshot_id", "data_file"}
    assert row["data_file"]["block_size_in_bytes"] == 64 * 1024 * 1024
    assert not {"content", "equality_ids"} & set(row["data_file"])
    assert "content" not in reader.metadata and reader.metadata["format-version"] == "1"


def test_records_have_javas_names(tmp_path: Path) -> None:
    avro = _schema(written(tmp_path, []).manifest_path)
    data = avro["fields"][-1]["type"]
    inner = {one["name"]: one for one in data["fields"]}
    assert (avro["name"], data["name"]) == ("manifest_entry", "r2")
    assert inner["partition"]["type"]["name"] == "r102"
    names = [
        inner[one]["type"][1]["items"]["name"]
        for one in ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts",
                    "lower_bounds", "upper_bounds")
    ]  # fmt: skip
    assert names == ["k117_v118", "k119_v120", "k121_v122", "k138_v139", "k126_v127", "k129_v130"]
    assert inner["split_offsets"]["type"][1]["element-id"] == 133
    assert inner["equality_ids"]["type"][1]["element-id"] == 136


def test_counts_and_rows_are_by_status(tmp_path: Path) -> None:
    entries = [
        entry(ADDED, data_file("a", record_count=1)),
        entry(ADDED, data_file("b", record_count=2)),
        entry(EXISTING, data_file("c", record_count=4), data_sequence_number=1),
        entry(DELETED, data_file("d", record_count=8), data_sequence_number=1),
    ]
    made = written(tmp_path, entries)
    files = (made.added_files_count, made.existing_files_count, made.deleted_files_count)
    rows = (made.added_rows_count, made.existing_rows_count, made.deleted_rows_count)
    assert files == (2, 1, 1) and rows == (3, 4, 8)
    assert made.manifest_length == Path(made.manifest_path).stat().st_size
    assert made.added_snapshot_id == 5 and made.sequence_number is None


@pytest.mark.parametrize(
    ("entries", "least"),
    [
        ([entry(ADDED)], None),
        ([entry(ADDED, data_sequence_number=3), entry(ADDED)], 3),
        ([entry(EXISTING, data_sequence_number=4), entry(ADDED)], 4),
        ([entry(DELETED, data_sequence_number=1), entry(EXISTING, data_sequence_number=4)], 4),
        ([], None),
    ],
)
def test_the_least_data_sequence_number_is_that_of_live_entries(
    tmp_path: Path, entries: Sequence[Any], least: int | None
) -> None:
    assert written(tmp_path, entries).min_sequence_number == least


def _summary(folder: Path, kind: str, *values: Any) -> FieldSummary:
    columns: Schema = schema(("c", kind))
    entries = [entry(file=data_file(partition=(value,))) for value in values]
    made = written(folder, entries, columns, spec=identity_spec(columns))
    assert made.partitions is not None
    return made.partitions[0]


def test_partition_summaries_have_bounds_and_nulls(tmp_path: Path) -> None:
    long = struct.Struct("<q").pack
    assert _summary(tmp_path, "long", 5, None, -3) == FieldSummary(True, False, long(-3), long(5))
    assert _summary(tmp_path, "string", "b", "ä", "a").upper_bound == "ä".encode()
    assert _summary(tmp_path, "binary", b"\x80", b"\x7f").upper_bound == b"\x80"
    assert _summary(tmp_path, "string", None) == FieldSummary(True, False)
    assert _summary(tmp_path, "string") == FieldSummary(False, False)


def test_nan_is_told_and_bounds_nothing(tmp_path: Path) -> None:
    double = struct.Struct("<d").pack
    nan = float("nan")
    assert _summary(tmp_path, "double", nan, 1.0) == FieldSummary(
        False, True, double(1.0), double(1.0)
    )
    assert _summary(tmp_path, "double", nan) == FieldSummary(False, True)


@pytest.mark.parametrize("values", [(0.0, -0.0), (-0.0, 0.0)])
def test_negative_zero_is_below_zero(tmp_path: Path, values: tuple[float, float]) -> None:
    double = struct.Struct("<d").pack
    made = _summary(tmp_path, "double", *values)
    assert (made.lower_bound, made.upper_bound) == (double(-0.0), double(0.0))


def test_a_rewritten_manifest_keeps_statistics_of_columns_we_do_not_know(tmp_path: Path) -> None:
    first = read(written(tmp_path, [entry(file=data_file(**FULL))]))
    again = read(written(tmp_path, first))
    for name in ("column_sizes", "lower_bounds", "upper_bounds", "nan_value_counts"):
        assert again.column(name).to_pylist() == first.column(name).to_pylist()


def test_deletes_are_written_in_version_2_and_refused_in_version_1(tmp_path: Path) -> None:
    entries = [
        entry(file=position_deletes(referenced_data_file="file:/f")),
        entry(file=equality_deletes([1])),
    ]
    table = read(written(tmp_path, entries, content=ManifestContent.DELETES))
    assert table.column("content").to_pylist() == [1, 2]
    assert table.column("referenced_data_file").to_pylist() == ["file:/f", None]
    assert table.column("equality_ids").to_pylist() == [None, [1]]
    with pytest.raises(InvalidInputError, match="version 1"):
        written(tmp_path, entries, content=ManifestContent.DELETES, format_version=1)


@pytest.mark.parametrize("status", [EXISTING, DELETED])
def test_existing_and_deleted_entries_need_their_number(tmp_path: Path, status: Any) -> None:
    with pytest.raises(InvalidInputError, match="data sequence number"):
        written(tmp_path, [entry(status)])


def test_a_partition_tuple_of_the_wrong_length_or_type_is_refused(tmp_path: Path) -> None:
    spec = identity_spec(ONE)
    with pytest.raises(InvalidInputError, match="2 partition values"):
        written(tmp_path, [entry(file=data_file(partition=(1, 2)))], spec=spec)
    with pytest.raises(InvalidInputError, match="'p_id' is not a long"):
        written(tmp_path, [entry(file=data_file(partition=("x",)))], spec=spec)
