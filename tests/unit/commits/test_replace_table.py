"""A table is replaced under its name: history and ids of columns stay (Java: buildReplacement)."""

import pytest

from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.create_table import ReplaceTable
from iceberg_spark.commits.manage_snapshots import CreateRef, ManageSnapshots, Retention
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.commits.set_schema import SetSchema
from iceberg_spark.errors import InvalidSchemaError, ValidationException
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation, SnapshotRefType
from iceberg_spark.spec.sort import UNSORTED
from iceberg_spark.spec.transform_text import parse_partition_spec
from tests.builders import data_file, schema
from tests.unit.commits.tables import make_table, run

NEW = schema(("other", "string"), ("id", "long"))


OTHERS = [
    (["id"], ["other"], [(1000, "id", "void"), (1001, "other", "identity")]),
    (["id"], [], [(1000, "id", "void")]),
    (["id", "region"], ["region"], [(1000, "id", "void"), (1001, "region", "identity")]),
    (["bucket(4, id)"], ["bucket(8, id)"], [
        (1000, "id_bucket_1000", "void"), (1001, "id_bucket", "bucket[8]"),
    ]),
    (["region"], ["other"], [(1000, "region", "void"), (1001, "other", "identity")]),
]  # fmt: skip
"""Partitions of a table of version 1, those it gets, and what its spec is then."""


def replaced(base: TableMetadata, **properties: str) -> ReplaceTable:
    spec = parse_partition_spec(["bucket(4, id)", "other"], NEW)
    return ReplaceTable(base, NEW, spec, UNSORTED, properties)


def test_columns_and_partition_fields_that_were_there_keep_their_ids() -> None:
    table = make_table(["bucket(4, id)"])
    after = run(table, replaced(table.metadata)).metadata
    assert [(one.name, one.field_id) for one in after.schema.fields] == [("other", 4), ("id", 1)]
    parts = [(part.name, part.field_id) for part in after.spec.fields]
    assert parts == [("id_bucket", 1000), ("other", 1001)]
    assert after.table_uuid == table.metadata.table_uuid


@pytest.mark.parametrize(("former", "new", "spec"), OTHERS)
def test_a_table_of_version_1_keeps_its_partition_fields_as_voids(
    former: list[str], new: list[str], spec: list[tuple[int, str, str]]
) -> None:
    table = make_table(former, format_version=1)
    wide = schema(("other", "string"), ("id", "long"), ("region", "string"))
    wanted = wide if "region" in new else NEW
    parts = parse_partition_spec(new, wanted)
    made = run(table, ReplaceTable(table.metadata, wanted, parts, UNSORTED, {}))
    found = made.metadata.spec.fields
    assert [(one.field_id, one.name, str(one.transform)) for one in found] == spec
    again = parse_partition_spec(["id"], NEW)
    last = run(made, ReplaceTable(made.metadata, NEW, again, UNSORTED, {})).metadata
    assert [str(one.transform) for one in last.spec.fields].count("identity") == 1


@pytest.mark.parametrize("version", [2, 3])
def test_names_of_row_lineage_are_taken_by_no_new_column(version: int) -> None:
    table = make_table(format_version=version)
    taken = schema(("_row_id", "long"))
    action = ReplaceTable(table.metadata, taken, parse_partition_spec([], taken), UNSORTED, {})
    with pytest.raises(InvalidSchemaError, match="_row_id"):
        run(table, action)


def test_main_is_empty_and_history_branches_and_properties_stay() -> None:
    table = run(make_table(a="1", b="2"), AppendFiles([data_file("x")]))
    head = table.metadata.branch_head().snapshot_id
    tag = CreateRef(SnapshotRefType.TAG, "kept", head, Retention())
    table = run(table, ManageSnapshots([tag]))
    after = run(table, replaced(table.metadata, b="3")).metadata
    assert after.branch_head() is None
    assert set(after.refs) == {"kept"}
    assert set(after.snapshots) == {head}
    assert (after.properties["a"], after.properties["b"]) == ("1", "3")


def test_new_rows_land_in_the_same_commit_as_an_overwrite() -> None:
    table = run(make_table(), AppendFiles([data_file("x")]))
    spec = parse_partition_spec([], NEW)
    action = ReplaceTable(table.metadata, NEW, spec, UNSORTED, {})
    after = run(table, action, OverwriteFiles([data_file("y")], replaces_table=True)).metadata
    head = after.branch_head()
    assert head.operation == Operation.OVERWRITE
    assert head.parent_snapshot_id is None
    assert head.summary["total-data-files"] == "1"


def test_a_definition_that_changed_meanwhile_is_a_conflict() -> None:
    table = make_table()
    action = replaced(table.metadata)
    wider = schema(("id", "long"), ("region", "string"), ("v", "double"), ("more", "int"))
    run(table, SetSchema(wider, table.metadata))
    with pytest.raises(ValidationException, match="replace it again"):
        run(table, action)


def test_rows_that_came_meanwhile_are_replaced() -> None:
    table = make_table()
    action = replaced(table.metadata)
    run(table, AppendFiles([data_file("x")]))
    assert run(table, action).metadata.branch_head() is None
