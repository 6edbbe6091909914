"""Manifests as columns: found by id, typed by the spec, those of every writer."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyiceberg import manifest as theirs
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField as TheirField
from pyiceberg.partitioning import PartitionSpec as TheirSpec
from pyiceberg.schema import Schema as TheirSchema
from pyiceberg.transforms import IdentityTransform as TheirIdentity
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType as TheirInt
from pyiceberg.types import NestedField as TheirNested
from pyiceberg.types import StringType as TheirString

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import CorruptFileError, InvalidInputError, NoSuchFileError
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.manifest.schemas import ENTRY_COLUMNS, entry_schema, value_column
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.types import StructType
from tests.builders import data_file, field, schema, struct
from tests.unit.manifest.manifests import (
    ALL_KINDS,
    FULL,
    IO,
    ONE,
    entry,
    identity_spec,
    paths,
    read,
    written,
)

NOTHING = StructType()


def _at(path: Path, sequence_number: int = 3) -> ManifestFile:
    size = path.stat().st_size
    return ManifestFile(str(path), size, 0, sequence_number=sequence_number, added_snapshot_id=9)


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_every_version_gives_the_same_columns(tmp_path: Path, format_version: int) -> None:
    entries = [entry(file=data_file(**FULL))]
    manifest = written(tmp_path, entries, format_version=format_version)
    table = read(replace(manifest, sequence_number=0))
    assert table.schema == entry_schema(NOTHING)
    table.validate(full=True)
    row = table.to_pylist()[0]
    assert row["content"] == 0 and row["file_format"] == "PARQUET"
    assert row["lower_bounds"][1] == {"key": 99, "value": b"of a column long gone"}
    assert row["nan_value_counts"] == [] and row["equality_ids"] is None


def test_only_asked_columns_come_in_the_order_of_the_table(tmp_path: Path) -> None:
    manifest = written(tmp_path, [entry()])
    table = read_manifest(IO, manifest, NOTHING, columns=["file_path", "snapshot_id"])
    assert table.column_names == ["snapshot_id", "file_path"]


@pytest.mark.parametrize("row", [FULL, {}])
def test_values_of_one_column_are_read_without_the_others_of_a_map(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    manifest = written(tmp_path, [entry(file=data_file(**row)), entry(file=data_file(**FULL))])
    names = [
        value_column(name, key) for name in ("lower_bounds", "value_counts") for key in (1, 99)
    ]
    cache = BoundedCache()
    maps = read(manifest).to_pylist()
    found = read_manifest(IO, manifest, NOTHING, columns=names, cache=cache)
    assert found.column_names == sorted(names)
    found.validate(full=True)
    for entries, values in zip(maps, found.to_pylist(), strict=True):
        for name, value in values.items():
            base, _, key = name.partition(".")
            pairs = {pair["key"]: pair["value"] for pair in entries[base] or ()}
            assert value == pairs.get(int(key))
    assert read_manifest(IO, manifest, NOTHING, columns=names, cache=cache).equals(found)


@pytest.mark.parametrize(
    "name", ["lower_bounds.x", "status.1", "partition.1000", "split_offsets.1"]
)
def test_values_that_no_map_has_are_refused_by_name(tmp_path: Path, name: str) -> None:
    manifest = written(tmp_path, [entry()])
    with pytest.raises(InvalidInputError, match=f"no column '{name}'"):
        read_manifest(IO, manifest, NOTHING, columns=[name])


def test_an_unknown_column_is_refused_by_name(tmp_path: Path) -> None:
    manifest = written(tmp_path, [entry()])
    with pytest.raises(InvalidInputError, match=r"no column 'sequence'.*data_sequence_number"):
        read_manifest(IO, manifest, NOTHING, columns=["sequence"])


def test_fields_are_found_by_id_whatever_they_are_called(tmp_path: Path) -> None:
    path = tmp_path / "odd.avro"
    fields = [
        {"name": "was", "type": "int", "field-id": 0},
        {"name": "file", "field-id": 2, "type": {"type": "record", "name": "x", "fields": [
            {"name": "path", "type": "string", "field-id": 100},
            {"name": "fmt", "type": "string", "field-id": 101},
            {"name": "part", "field-id": 102, "type": {"type": "record", "name": "y", "fields": [
                {"name": "old", "type": ["int", "null"], "field-id": 1000}]}},
            {"name": "rows", "type": "long", "field-id": 103},
            {"name": "bytes", "type": "long", "field-id": 104},
        ]}},
    ]  # fmt: skip
    row = {"path": "/f", "fmt": "parquet", "part": {"old": 7}, "rows": 1, "bytes": 2}
    schema_json = {"type": "record", "name": "entry", "fields": fields}
    with path.open("wb") as out:
        fastavro.writer(out, schema_json, [{"was": 1, "file": row}])
    found = read_manifest(IO, _at(path), struct(field(1000, "renamed", "long"))).to_pylist()[0]
    assert found["file_path"] == "/f" and found["record_count"] == 1
    assert found["partition"] == {"1000": 7} and found["snapshot_id"] == 9
    assert found["file_format"] == "PARQUET"


@pytest.mark.parametrize(
    ("was", "now", "value"),
    [
        ("int", "long", 7),
        ("float", "double", 0.5),
        ("decimal(9, 2)", "decimal(20, 2)", None),
        ("date", "int", 19_000),
        ("int", "date", 19_000),
    ],
)
def test_partition_values_are_read_in_the_type_of_today(
    tmp_path: Path, was: str, now: str, value: Any
) -> None:
    before, after = schema(("c", was)), schema(("c", now))
    file = data_file(partition=(value,))
    manifest = written(tmp_path, [entry(file=file)], before, spec=identity_spec(before))
    table = read(manifest, after, identity_spec(after))
    assert table.schema == entry_schema(partition_type(identity_spec(after), after))
    cell = table.column("partition").combine_chunks().field(0)
    assert (cell.cast(pa.int32()) if now == "date" else cell).to_pylist() == [value]


def test_a_partition_field_that_the_file_lacks_is_null(tmp_path: Path) -> None:
    manifest = written(tmp_path, [entry()])
    assert read(manifest, ONE, identity_spec(ONE)).column("partition").to_pylist() == [
        {"1000": None}
    ]


def test_partition_values_of_an_unknown_transform_read_as_text(tmp_path: Path) -> None:
    columns = schema(("a", "binary"), ("b", "int"))
    spec = identity_spec(columns)
    files = [data_file(partition=(b"\xff\x00", 5)), data_file(partition=(None, None))]
    manifest = written(tmp_path, [entry(file=file) for file in files], columns, spec=spec)
    text = struct(field(1000, "a", "string"), field(1001, "b", "string"))
    found = read_manifest(IO, manifest, text).column("partition").to_pylist()
    assert found == [{"1000": "ff00", "1001": "5"}, {"1000": None, "1001": None}]


def test_partition_values_that_cannot_be_of_the_type_name_the_field(tmp_path: Path) -> None:
    columns = schema(("c", "string"))
    file = data_file(partition=("x",))
    manifest = written(tmp_path, [entry(file=file)], columns, spec=identity_spec(columns))
    with pytest.raises(CorruptFileError, match=r"m0\.avro.*'p_id'.*1000.*long"):
        read(manifest, ONE, identity_spec(ONE))


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFileError, match=r"gone\.avro"):
        read_manifest(IO, ManifestFile(str(tmp_path / "gone.avro"), 1, 0), NOTHING)


def test_a_file_that_is_no_manifest_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.avro"
    fields = [{"name": "a", "type": "int", "field-id": 77}]
    with path.open("wb") as out:
        fastavro.writer(out, {"type": "record", "name": "r", "fields": fields}, [{"a": 1}])
    with pytest.raises(CorruptFileError, match=r"other\.avro is not a manifest: it lacks field"):
        read_manifest(IO, _at(path), NOTHING)


def test_a_decoded_manifest_is_not_read_again_and_columns_are_added(tmp_path: Path) -> None:
    manifest = written(tmp_path, [entry(file=file) for file in paths(3)])
    cache = BoundedCache(1_000_000)
    read_manifest(IO, manifest, NOTHING, columns=["file_path"], cache=cache)
    read_manifest(IO, manifest, NOTHING, columns=["record_count"], cache=cache)
    Path(manifest.manifest_path).unlink()
    again = read_manifest(IO, manifest, NOTHING, columns=["file_path", "record_count"], cache=cache)
    assert again.num_rows == 3 and again.column_names == ["file_path", "record_count"]
    with pytest.raises(NoSuchFileError):
        read_manifest(IO, manifest, NOTHING, columns=["file_size_in_bytes"], cache=cache)


def test_cached_columns_inherit_from_the_manifest_that_asks(tmp_path: Path) -> None:
    manifest = written(tmp_path, [entry()])
    cache = BoundedCache(1_000_000)
    for number in (1, 2):
        table = read_manifest(IO, replace(manifest, sequence_number=number), NOTHING, cache=cache)
        assert table.column("data_sequence_number").to_pylist() == [number]


@pytest.mark.parametrize("codec", ["null", "gzip", "zstd"])
@pytest.mark.parametrize("version", [1, 2])
def test_manifests_of_pyiceberg_are_read(tmp_path: Path, version: int, codec: Any) -> None:
    spec = TheirSpec(
        TheirField(1, 1000, TheirIdentity(), "a"), TheirField(2, 1001, TheirIdentity(), "b")
    )
    columns = TheirSchema(TheirNested(1, "a", TheirInt()), TheirNested(2, "b", TheirString()))
    path = tmp_path / "p.avro"
    out = PyArrowFileIO().new_output(str(path))
    with theirs.write_manifest(version, spec, columns, out, 9, codec) as writer:
        for value in (5, None):
            file = theirs.DataFile.from_args(
                content=theirs.DataFileContent.DATA,
                file_path=f"/data/{value}.parquet",
                file_format=theirs.FileFormat.PARQUET,
                partition=Record(value, None if value is None else "x"),
                record_count=3,
                file_size_in_bytes=30,
                value_counts={1: 3},
                lower_bounds={1: b"\x05\x00\x00\x00"},
                sort_order_id=0,
            )
            writer.add_entry(
                theirs.ManifestEntry.from_args(
                    status=theirs.ManifestEntryStatus.ADDED, snapshot_id=9, data_file=file
                )
            )
    mine = schema(("a", "int"), ("b", "string"))
    kind = partition_type(identity_spec(mine), mine)
    found = read_manifest(IO, _at(path, 3 if version == 2 else 0), kind).to_pylist()
    assert [row["partition"] for row in found] == [
        {"1000": 5, "1001": "x"},
        {"1000": None, "1001": None},
    ]
    assert [row["data_sequence_number"] for row in found] == [3 if version == 2 else 0] * 2
    assert found[0]["value_counts"] == [{"key": 1, "value": 3}]
    assert found[0]["lower_bounds"] == [{"key": 1, "value": b"\x05\x00\x00\x00"}]


def test_nulls_in_every_partition_field_are_read(tmp_path: Path) -> None:
    spec = identity_spec(ALL_KINDS)
    empty = (None,) * len(spec.fields)
    manifest = written(tmp_path, [entry(file=data_file(partition=empty))], ALL_KINDS, spec=spec)
    table = read(manifest, ALL_KINDS, spec)
    table.validate(full=True)
    assert set(table.column("partition").to_pylist()[0].values()) == {None}
    assert set(ENTRY_COLUMNS) == set(table.column_names)
