"""Java Iceberg and PyIceberg read the metadata that we write, and Java writes it the same."""

import json
from decimal import Decimal

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.fresh_ids import assign_fresh_ids
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_json import metadata_to_json
from iceberg_spark.spec.partition_path import escape, human_text
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_json import schema_from_dict, schema_to_dict
from iceberg_spark.spec.transform_text import parse_transform
from tests.builders import (
    CREATED_MS,
    branch,
    field,
    list_of,
    map_of,
    metadata,
    schema,
    snapshot,
    struct,
    tag,
    type_of,
)
from tests.oracle.java_api import iceberg

INNER = struct(field(6, "m", map_of(7, "string", 8, "decimal(9, 2)")))
COLUMNS = schema(
    field(1, "id", "long", True, doc="é"),
    field(2, "a", struct(field(3, "x", "int"), field(4, "l", list_of(5, INNER)))),
    field(9, "ts", "timestamptz"),
    field(10, "b", "binary"),
    field(11, "u", "uuid"),
    field(12, "f", "fixed[4]"),
    field(13, "t", "time"),
    identifier_field_ids=(1,),
)


def both(value):
    return {"initial_default": value, "write_default": value}


NEW_TYPES = (
    field(21, "n", "timestamptz_ns", **both(1_234_567_890_123_456_789)),
    field(22, "g", "geography(srid:4326, karney)"),
    field(23, "v", "variant"),
    field(24, "un", "unknown"),
)
DEFAULTS = (
    field(25, "dd", "decimal(9, 2)", **both(Decimal("1.50"))),
    field(26, "db", "binary", **both(b"\x01\xff")),
    field(27, "dt", "date", **both(3)),
    field(28, "dz", "timestamptz", **both(1)),
    field(29, "di", "time", **both(36_000_000_001)),
    field(30, "df", "float", **both(0.5)),
    field(31, "ds", "string", **both("é")),
)


def table(version: int, columns: Schema) -> TableMetadata:
    made = metadata(
        columns,
        ["days(ts)", "bucket(4, id)", "a.x"],
        ["id desc", "bucket(4, u)"],
        format_version=version,
        properties={"a": "b"},
    )
    rows = {"first_row_id": 0, "added_rows": 10} if version == 3 else {}
    number = 0 if version == 1 else 1
    statistics = {"snapshot-id": 1, "statistics-path": "x", "file-size-in-bytes": 1}
    puffin = statistics | {"file-footer-size-in-bytes": 1, "blob-metadata": []}
    changes = [
        u.AddSnapshot(snapshot(1, number, **rows)),
        u.SetSnapshotRef("main", branch(1)),
        u.SetSnapshotRef("t", tag(1, max_ref_age_ms=5)),
        u.SetStatistics(puffin),
        u.SetPartitionStatistics(statistics),
    ]
    return apply(made, changes, now_ms=CREATED_MS + 50)


WIDE = Schema(*COLUMNS.fields, *NEW_TYPES, *DEFAULTS, identifier_field_ids=(1,))
TABLES = {
    "v1": table(1, COLUMNS),
    "v2": table(2, COLUMNS),
    "v3": table(3, WIDE),
    "empty": metadata(COLUMNS),
    "empty-v3": metadata(COLUMNS, format_version=3),
}


def lower_hex(node):
    """Java writes the hexadecimal digits of binary defaults in upper case; both are read."""
    if isinstance(node, dict):
        return {
            key: value.lower()
            if key.endswith("-default") and node["type"] == "binary"
            else lower_hex(value)
            for key, value in node.items()
        }
    return [lower_hex(one) for one in node] if isinstance(node, list) else node


@pytest.mark.parametrize("name", TABLES)
def test_java_reads_our_metadata_and_writes_it_the_same(java, name):
    parser = iceberg(java).TableMetadataParser
    text = metadata_to_json(TABLES[name])
    assert lower_hex(json.loads(parser.toJson(parser.fromJson(text)))) == json.loads(text)


@pytest.mark.parametrize("name", ["v1", "v2", "empty"])
def test_pyiceberg_reads_our_metadata(name):
    ours = TABLES[name]
    found = TableMetadataUtil.parse_raw(metadata_to_json(ours))
    assert found.current_snapshot_id == ours.current_snapshot_id
    assert found.last_column_id == ours.last_column_id
    assert [one.name for one in found.spec().fields] == ["ts_day", "id_bucket", "a.x"][
        : len(ours.spec.fields)
    ]


def test_fresh_ids_are_javas(java):
    jvm = iceberg(java)
    given = jvm.SchemaParser.fromJson(json.dumps(schema_to_dict(WIDE)))
    empty = jvm.PartitionSpec.unpartitioned()
    options = java.sparkContext._jvm.java.util.HashMap()
    options.put("format-version", "3")
    made = jvm.TableMetadata.newTableMetadata(given, empty, "file:/t", options)
    theirs = schema_from_dict(json.loads(jvm.SchemaParser.toJson(made.schema())))
    assert theirs == assign_fresh_ids(WIDE)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("year", "int", -1),
        ("month", "int", -1),
        ("month", "int", 700),
        ("day", "date", -1),
        ("hour", "int", 473_362),
        ("hour", "int", -1),
        ("identity", "date", 19_723),
        ("identity", "date", -719_529),
        ("identity", "time", 36_000_000_000),
        ("identity", "time", 36_000_500_000),
        ("identity", "time", 36_000_000_001),
        ("identity", "timestamp", 1_704_103_200_000_000),
        ("identity", "timestamp", 1_704_103_200_120_000),
        ("identity", "timestamptz", 1_704_103_200_000_001),
        ("identity", "timestamp", -62_135_596_800_000_001),
        ("identity", "timestamp_ns", 1_704_103_200_000_000_001),
        ("identity", "timestamptz_ns", 1_704_103_200_000_000_000),
        ("identity", "string", "a b/é"),
        ("identity", "boolean", True),
        ("identity", "double", 1.0),
        ("identity", "double", -1234.5),
        ("identity", "double", 1e7),
        ("identity", "double", 123_456_789.25),
        ("identity", "double", 0.001),
        ("identity", "double", 0.00012),
        ("identity", "double", 1e-300),
        ("identity", "double", -0.0),
        ("identity", "double", float("nan")),
        ("identity", "double", float("-inf")),
    ],
)
def test_partition_values_are_named_as_java_names_them(java, text, kind, value):
    jvm = iceberg(java)
    fields = {"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "c", "required": False, "type": kind}]}  # fmt: skip
    their_type = jvm.SchemaParser.fromJson(json.dumps(fields)).findType("c")
    theirs = jvm.transforms.Transforms.fromString(text).toHumanString(their_type, value)
    assert human_text(parse_transform(text), type_of(kind), value) == theirs


@pytest.mark.parametrize("value", [0.5, 1e10, 0.10000000149011612, 3.4028234663852886e38])
def test_floats_are_written_as_java_writes_them(java, value):
    theirs = java.sparkContext._jvm.java.lang.Float.toString(value)
    assert human_text(parse_transform("identity"), type_of("float"), value) == theirs


@pytest.mark.parametrize("text", ["a b", "a/b=c", "é€😀", "A-z_0.9*", "~%+:!'()\t", ""])
def test_paths_are_escaped_as_java_escapes_them(java, text):
    assert escape(text) == java.sparkContext._jvm.java.net.URLEncoder.encode(text, "UTF-8")
