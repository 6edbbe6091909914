"""What a user asks of a table, and what the scan makes of it."""

import pickle
from dataclasses import replace
from typing import Any

import pytest

from iceberg_spark.errors import (
    InvalidExpressionError,
    InvalidOptionError,
    InvalidSchemaError,
    NoSuchSnapshotError,
    UnsupportedError,
)
from iceberg_spark.expr.build import col
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.io.storage import open_storage
from iceberg_spark.scan.request import ScanRequest, narrow_scan, scan_context
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import SnapshotLogEntry
from iceberg_spark.spec.types import StructType
from tests.builders import (
    CREATED_MS,
    branch,
    field,
    list_of,
    map_of,
    metadata,
    scan_of,
    schema,
    snapshot,
    struct,
    tag,
)

OLD = schema(("id", "int"), ("gone", "string"), schema_id=0)
NEW = Schema(field(1, "id", "long"), field(3, "added", "string"), schema_id=1)


def history() -> TableMetadata:
    """Snapshot 1 with the old schema, 2 and 3 with the new one; a branch at 1, a tag at 1."""
    snapshots = {
        1: snapshot(1, schema_id=0),
        2: snapshot(2, 2, parent_snapshot_id=1, schema_id=1),
        3: snapshot(3, 3, parent_snapshot_id=2, schema_id=1),
    }
    return replace(
        metadata(OLD),
        schemas={0: OLD, 1: NEW},
        current_schema_id=1,
        snapshots=snapshots,
        current_snapshot_id=3,
        refs={"main": branch(3), "audit": branch(1), "v1": tag(1)},
        snapshot_log=tuple(SnapshotLogEntry(n, CREATED_MS + n) for n in snapshots),
    )


def names(columns: Schema) -> list[str]:
    return [column.name for column in columns]


def test_an_empty_table_has_no_snapshot() -> None:
    assert scan_of(metadata()).snapshot_id is None


def test_without_a_choice_the_newest_of_main_is_read_with_the_current_schema() -> None:
    context = scan_of(history())
    assert (context.snapshot_id, context.table_schema) == (3, NEW)


@pytest.mark.parametrize(
    "chosen",
    [
        {"snapshot_id": 1},
        {"tag": "v1"},
        {"as_of_timestamp_ms": CREATED_MS + 1},
        {"version_as_of": "1"},
        {"version_as_of": 1},
        {"version_as_of": "v1"},
    ],
)
def test_snapshot_time_and_tag_reads_use_the_schema_of_the_snapshot(chosen: Any) -> None:
    context = scan_of(history(), **chosen)
    assert (context.snapshot_id, context.table_schema) == (1, OLD)


@pytest.mark.parametrize("chosen", [{"branch": "audit"}, {"version_as_of": "audit"}])
def test_branch_reads_use_the_current_schema(chosen: Any) -> None:
    context = scan_of(history(), **chosen)
    assert (context.snapshot_id, context.table_schema) == (1, NEW)


def test_a_snapshot_that_does_not_say_its_schema_is_read_with_the_current_one() -> None:
    base = history()
    old = replace(base.snapshots[1], schema_id=None)
    base = replace(base, snapshots={**base.snapshots, 1: old})
    assert scan_of(base, snapshot_id=1).table_schema == NEW


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"snapshot_id": 9}, "9"),
        ({"tag": "v9"}, "No tag v9 .*audit, main, v1"),
        ({"tag": "audit"}, "audit is a branch"),
        ({"branch": "b9"}, "No branch b9 .*audit, main, v1"),
        ({"branch": "v1"}, "v1 is a tag"),
        ({"version_as_of": "x"}, "No snapshot, branch or tag x"),
        ({"version_as_of": "9"}, "No snapshot, branch or tag 9"),
        ({"as_of_timestamp_ms": CREATED_MS}, str(CREATED_MS)),
        ({"start_snapshot_id": 9}, r"Snapshot 9 \(start-snapshot-id\) is not an ancestor"),
        ({"start_snapshot_id": 1, "end_snapshot_id": 9}, "9"),
        ({"start_snapshot_id": 1, "end_snapshot_id": 3, "branch": "audit"}, "not on branch audit"),
    ],
)
def test_a_snapshot_that_is_not_there_is_named(chosen: Any, said: str) -> None:
    with pytest.raises(NoSuchSnapshotError, match=said):
        scan_of(history(), **chosen)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"snapshot_id": 1, "tag": "v1"}, "'snapshot-id' and 'tag'"),
        ({"branch": "audit", "as_of_timestamp_ms": 5}, "'as-of-timestamp' and 'branch'"),
        ({"snapshot_id": 1, "version_as_of": 1}, "'snapshot-id' and 'versionAsOf'"),
        ({"start_snapshot_id": 1, "snapshot_id": 2}, "'snapshot-id' and 'start-snapshot-id'"),
        ({"end_snapshot_id": 1}, "needs 'start-snapshot-id'"),
    ],
)
def test_options_that_exclude_each_other_are_named(chosen: Any, said: str) -> None:
    with pytest.raises(InvalidOptionError, match=said):
        scan_of(history(), **chosen)


def test_an_incremental_read_goes_to_the_newest_snapshot_with_the_current_schema() -> None:
    context = scan_of(history(), start_snapshot_id=1)
    chosen = (context.start_snapshot_id, context.snapshot_id, context.table_schema)
    assert chosen == (1, 3, NEW)
    assert scan_of(history(), start_snapshot_id=1, end_snapshot_id=2).snapshot_id == 2


def test_an_incremental_read_may_start_at_an_expired_snapshot() -> None:
    base = history()
    left = {number: one for number, one in base.snapshots.items() if number != 1}
    base = replace(base, snapshots=left, refs={"main": branch(3)})
    assert scan_of(base, start_snapshot_id=1).start_snapshot_id == 1


NESTED = schema(
    field(1, "id", "long", True),
    field(2, "s", struct(field(3, "a", "int"), field(4, "b", struct(field(5, "c", "string"))))),
    field(6, "l", list_of(7, struct(field(8, "x", "int"), field(9, "y", "int")))),
    field(10, "m", map_of(11, "string", 12, struct(field(13, "v", "int"), field(14, "w", "int")))),
)


def nested() -> TableMetadata:
    return replace(metadata(), schemas={0: NESTED})


@pytest.mark.parametrize(
    ("chosen", "ids"),
    [
        (["id"], (1,)),
        (["s"], (2, 3, 4, 5)),
        (["s.a"], (2, 3)),
        (["s.b.c"], (2, 4, 5)),
        (["s.a", "s.b"], (2, 3, 4, 5)),
        (["l.y"], (6, 7, 9)),
        (["l.element.y"], (6, 7, 9)),
        (["m.w"], (10, 11, 12, 14)),
        (["m", "id"], (1, 10, 11, 12, 13, 14)),
        (["*"], NESTED.field_ids),
        (None, NESTED.field_ids),
    ],
)
def test_chosen_columns_come_in_the_order_of_the_table(chosen: Any, ids: tuple[int, ...]) -> None:
    context = scan_of(nested(), selected_fields=chosen)
    assert context.read_schema.field_ids == ids
    assert context.table_schema.field_ids == NESTED.field_ids


def test_unknown_columns_are_named_with_those_that_are_there() -> None:
    with pytest.raises(InvalidSchemaError, match=r"'s\.z'.*s\.b\.c"):
        scan_of(nested(), selected_fields=["s.z"])


def test_column_names_may_ignore_case() -> None:
    context = scan_of(nested(), selected_fields=["S.A"], case_sensitive=False)
    assert context.read_schema.field_ids == (2, 3)
    with pytest.raises(InvalidSchemaError, match=r"S\.A"):
        scan_of(nested(), selected_fields=["S.A"])


def test_no_column_at_all_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="No column"):
        scan_of(nested(), selected_fields=[])


def test_metadata_columns_come_last_each_once() -> None:
    context = scan_of(nested(), selected_fields=["_pos", "id"], metadata_columns=["_file", "_pos"])
    assert names(context.read_schema) == ["id", "_pos", "_file"]
    only = scan_of(nested(), selected_fields=[], metadata_columns=["_pos"])
    assert names(only.read_schema) == ["_pos"]


def test_the_partition_column_is_the_union_of_all_specs() -> None:
    context = scan_of(metadata(NESTED, ["bucket(4, id)"]), metadata_columns=["_partition"])
    kind = context.read_schema.find_type("_partition")
    assert isinstance(kind, StructType)
    assert [(part.field_id, part.name) for part in kind.fields] == [(1000, "id_bucket")]


def test_the_partition_column_is_refused_where_ids_clash() -> None:
    columns = schema(field(1, "id", "long"), field(1000, "v", "long"))
    base = metadata(schema(("id", "long")), ["id"])
    base = replace(base, schemas={0: columns})
    with pytest.raises(UnsupportedError, match="'v'"):
        scan_of(base, metadata_columns=["_partition"])


def test_unknown_metadata_columns_are_named() -> None:
    with pytest.raises(
        InvalidOptionError, match="'_row' is not a metadata column; the names are: _file"
    ):
        scan_of(metadata(), metadata_columns=["_row"])


def test_filters_are_text_or_built_and_bound_to_the_schema_read() -> None:
    assert scan_of(history()).row_filter == ALWAYS_TRUE
    for given in ("gone = 'x'", col("gone") == "x"):
        bound = scan_of(history(), row_filter=given, snapshot_id=1).row_filter
        assert to_text(bound) == "gone = 'x'"
    with pytest.raises(InvalidExpressionError, match="gone"):
        scan_of(history(), row_filter="gone = 'x'")


def test_filters_may_name_columns_that_are_not_read() -> None:
    context = scan_of(nested(), row_filter="s.a > 1", selected_fields=["id"])
    assert names(context.read_schema) == ["id"]


def test_dropped_columns_are_kept_for_equality_deletes() -> None:
    dropped = scan_of(history()).dropped_fields
    assert dropped is not None
    assert dropped.field_ids == (2,)
    assert scan_of(metadata()).dropped_fields is None


def test_dropped_fields_keep_the_structs_that_held_them() -> None:
    first = schema(
        field(1, "s", struct(field(2, "a", "int"), field(3, "b", "int"), field(4, "c", "int")))
    )
    second = schema(field(1, "s", struct(field(2, "a", "int"), field(3, "b", "long"))), schema_id=1)
    third = schema(field(1, "t", struct(field(2, "a", "int"))), schema_id=2)
    base = replace(metadata(first), schemas={0: first, 1: second, 2: third}, current_schema_id=2)
    dropped = scan_of(base).dropped_fields
    assert dropped is not None
    assert dropped.field_ids == (1, 3, 4)
    assert str(dropped.find_type(3)) == "long"


def test_dropped_columns_of_one_name_are_told_apart() -> None:
    schemas = {
        number: Schema(field(number, "k", "long"), field(9, "v", "int"), schema_id=number)
        for number in (1, 2, 3)
    }
    base = replace(metadata(schemas[1]), schemas=schemas, current_schema_id=3)
    dropped = scan_of(base).dropped_fields
    assert dropped is not None
    assert {one.field_id: one.name for one in dropped} == {2: "k", 1: "k_1"}


def test_the_batch_size_must_be_positive() -> None:
    assert scan_of(metadata(), batch_rows=7).batch_rows == 7
    with pytest.raises(InvalidOptionError, match="batch-size"):
        scan_of(metadata(), batch_rows=0)


def test_a_context_of_a_hundred_columns_is_small() -> None:
    columns = schema(
        *((f"a_column_with_a_long_name_{at:03}", "decimal(18, 2)") for at in range(100))
    )
    base = metadata(columns, ["bucket(16, a_column_with_a_long_name_001)"])
    context = scan_of(base, row_filter="a_column_with_a_long_name_002 in (1, 2, 3)")
    data = pickle.dumps(context)
    assert len(data) < 64 * 1024
    assert pickle.loads(data) == context


@pytest.mark.parametrize(
    "asked",
    [
        {"row_filter": "id > 3"},
        {"selected_fields": ("added",)},
        {"selected_fields": None, "metadata_columns": ("_file",)},
        {"row_filter": "ID > 3", "selected_fields": ("ADDED",), "case_sensitive": False},
    ],
)
def test_a_scan_that_is_narrowed_is_the_one_that_asks_at_once(asked: Any) -> None:
    base, io = history(), open_storage()
    request = ScanRequest(case_sensitive=asked.get("case_sensitive", True))
    whole = scan_context(base, request)
    found = narrow_scan(whole, base, replace(request, **asked), io)
    assert found == scan_context(base, replace(request, **asked), io)
    assert found.io is io
