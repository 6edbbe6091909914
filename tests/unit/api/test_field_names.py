"""Names of columns and of partition fields: one may have the other's only as its identity."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.create_table import ReplaceTable
from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.save.plan_save import plan_save
from iceberg_spark.save.write_options import write_options
from iceberg_spark.spec.partition import UNPARTITIONED
from iceberg_spark.spec.sort import UNSORTED
from iceberg_spark.spec.transform_text import parse_partition_spec
from tests.builders import schema
from tests.unit.api.tables import data_files, ids, make, new_location

SCHEMA = "id bigint, region string, s struct<x: string>, ts timestamp"


def renamed(folder: Path | None = None, **properties: str) -> Table:
    """A table that is partitioned by `region`, which is called `area` now."""
    table = make(folder, SCHEMA, ["region"], **properties)
    table.append(pa.table({"id": [1], "region": ["a"]}))
    table.update_schema().rename_column("region", "area").commit()
    return table


def formerly_partitioned(**properties: str) -> Table:
    """A table whose first spec has the field `id_bucket`, and whose current one has none."""
    table = make(None, SCHEMA, ["bucket(4, id)"], **properties)
    table.update_spec().remove_field("id_bucket").commit()
    return table


def in_one_transaction(table: Table) -> None:
    with table.transaction() as changes:
        changes.update_schema().delete_column("ts").commit()
        changes.update_schema().add_column("region", "string").commit()


WAYS: dict[str, Callable[[Table], object]] = {
    "add": lambda t: t.update_schema().add_column("region", "int").commit(),
    "rename": lambda t: t.update_schema().rename_column("id", "region").commit(),
    "union": lambda t: t.update_schema().union_by_name("region string").commit(),
    "merge schema": lambda t: plan_save(
        write_options({"path": t.location(), "mergeSchema": "true"}),
        schema(("id", "long"), ("region", "string")),
        overwrite=False,
    ),
    "transaction": in_one_transaction,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_a_column_does_not_get_the_name_of_the_field_of_another_column(
    way: str, version: str
) -> None:
    table = renamed(**{"format-version": version})
    before = data_files(table)
    with pytest.raises(InvalidSchemaError, match=r"Column 'region' .* of spec 0.*'area'"):
        WAYS[way](table)
    newest = ice.load_table(table.location())
    assert newest.metadata_location == table.metadata_location
    assert data_files(newest) == before


FIELDS: dict[str, Callable[[Table], object]] = {
    "rename the source": lambda t: t.update_schema().rename_column("id", "id_bucket").commit(),
    "add": lambda t: t.update_schema().add_column("id_bucket", "int").commit(),
}


@pytest.mark.parametrize("way", FIELDS)
def test_a_column_does_not_get_the_name_of_a_field_of_a_former_spec(way: str) -> None:
    table = formerly_partitioned()
    with pytest.raises(InvalidSchemaError, match=r"spec 0.*remove the former spec"):
        FIELDS[way](table)
    table.maintenance.expire_snapshots(older_than=1 << 60, clean_expired_metadata=True)
    FIELDS[way](table)
    assert table.metadata.schema.find_id("id_bucket") is not None


@pytest.mark.parametrize("named", ["ts", "region", "id", "s.x"])
def test_a_partition_field_does_not_get_the_name_of_a_column(named: str) -> None:
    table = make(None, SCHEMA)
    with pytest.raises(InvalidSchemaError, match=f"'{named}'"):
        table.update_spec().add_field("bucket(4, id)", named).commit()
    table.update_spec().add_field("bucket(4, id)", "b").commit()
    with pytest.raises(InvalidSchemaError, match=f"'{named}'"):
        table.update_spec().rename_field("b", named).commit()


def test_a_nested_column_does_not_get_the_name_of_a_field() -> None:
    table = make(None, SCHEMA, ["s.x"])
    table.update_schema().rename_column("s.x", "y").commit()
    with pytest.raises(InvalidSchemaError, match=r"Column 's\.x' .*'s\.y'"):
        table.update_schema().add_column(("s", "x"), "string").commit()


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_dropped_column_that_partitioned_can_be_added_again(version: str) -> None:
    """Java loads such a table; in version 1 the field stays as void."""
    table = make(None, SCHEMA, ["region"], **{"format-version": version})
    table.append(pa.table({"id": [1], "region": ["a"]}))
    table.update_spec().remove_field("region").commit()
    with pytest.raises(InvalidSchemaError, match="Column 'region'"):
        in_one_transaction_renamed(table)
    table.update_schema().delete_column("region").commit()
    table.update_schema().add_column("region", "string").commit()
    table.append(pa.table({"id": [2], "region": ["b"]}))
    assert table.scan().to_arrow().sort_by("id")["region"].to_pylist() == [None, "b"]


def in_one_transaction_renamed(table: Table) -> None:
    with table.transaction() as changes:
        changes.update_schema().rename_column("region", "area").commit()
        changes.update_schema().add_column("region", "string").commit()


def test_a_table_is_not_created_or_replaced_with_a_clash() -> None:
    where = new_location()
    with pytest.raises(InvalidSchemaError, match="name of another column"):
        ice.create_table(where, "id bigint, b int", partition_by=["id as b"])
    table = renamed()
    columns = schema(("id", "long"), ("area", "string"), ("region", "string"))
    spec = parse_partition_spec(["region"], columns)
    for parts in (spec, UNPARTITIONED):
        replacement = ReplaceTable(table.metadata, columns, parts, UNSORTED, {})
        with pytest.raises(InvalidSchemaError, match="Column 'region' and partition field"):
            replacement_of(table, replacement)


def replacement_of(table: Table, action: ReplaceTable) -> None:
    base = FileSystemCatalog("c").load(table.location())
    commit(FileSystemCatalog("c"), table.location(), action, base)


def test_two_writers_do_not_give_one_name_to_a_column_and_a_field() -> None:
    table = make(None, SCHEMA)

    def overlapping() -> None:
        with table.transaction() as changes:
            changes.update_spec().add_field("bucket(4, id)", "b").commit()
            ice.load_table(table.location()).update_schema().add_column("b", "int").commit()

    with pytest.raises(InvalidSchemaError, match="Column 'b'"):
        overlapping()
    assert not ice.load_table(table.location()).metadata.spec.fields


def test_files_are_added_by_the_new_name_of_a_column(tmp_path: Path) -> None:
    table = renamed(tmp_path / "t")
    pq.write_table(pa.table({"id": [5], "area": ["a"]}), tmp_path / "f.parquet")
    table.add_files(str(tmp_path / "f.parquet"))
    assert ids(table) == [1, 5]


def test_a_table_that_has_a_clash_is_read_and_changed(tmp_path: Path) -> None:
    """Another library made it."""
    table = renamed(tmp_path / "t")
    path = Path(table.metadata_location)
    metadata = json.loads(path.read_text())
    columns = metadata["schemas"][metadata["current-schema-id"]]["fields"]
    columns.append({"id": 9, "name": "region", "required": False, "type": "string"})
    metadata["last-column-id"] = 9
    path.write_text(json.dumps(metadata))
    table = ice.load_table(table.location())
    table.append(pa.table({"id": [2], "area": ["b"], "region": ["c"]}))
    table.update_schema().add_column("note", "string").commit()
    table.delete("region = 'c'")
    assert ids(table) == [1]
    table.update_schema().delete_column("region").commit()
    with pytest.raises(InvalidSchemaError, match="Column 'region'"):
        table.update_schema().add_column("region", "string").commit()


def test_a_column_that_partitions_gets_another_name_and_its_own_again() -> None:
    table = renamed()
    table.update_schema().rename_column("area", "region").commit()
    assert table.metadata.spec.fields[0].name == "region"
