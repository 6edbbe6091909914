"""Row ids and numbers of last updates as metadata columns (specification: "Row Lineage")."""

from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
)
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.scan.split import SplitOptions
from iceberg_spark.spec.types import LongType, NestedField
from iceberg_spark.spec.updates import AddSchema, SetCurrentSchema
from iceberg_spark.write.lineage import keeping_lineage
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.sorted_files import write_sorted_files
from tests.unit.api.tables import make, rows

LINEAGE = ("_row_id", "_last_updated_sequence_number")
FORMATS = ("parquet", "orc", "avro")


def lineage(
    table: Table, row_filter: str | None = None, **asked: Any
) -> dict[int, tuple[Any, ...]]:
    """Row id and sequence number of the last update, by the column id."""
    scan = table.scan(row_filter, metadata_columns=LINEAGE, **asked)
    found = scan.to_arrow()
    assert found.column_names[-2:] == list(LINEAGE)
    columns = (found[name].to_pylist() for name in ("id", *LINEAGE))
    return {number: (row_id, sequence) for number, row_id, sequence in zip(*columns, strict=True)}


def v3(**rest: Any) -> Table:
    return make(**{"format_version": "3", **rest})


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_have_the_ids_of_their_places_and_the_number_of_their_commit(kind: str):
    table = v3(**{"write.format.default": kind})
    table.append(rows(id=[10, 11, 12]))
    table.append(rows(id=[20, 21]))
    expected = {10: (0, 1), 11: (1, 1), 12: (2, 1), 20: (3, 2), 21: (4, 2)}
    assert lineage(table) == expected
    assert lineage(table, "id in (11, 21)") == {11: (1, 1), 21: (4, 2)}
    table.upsert(rows(id=[11]), keys=["id"])
    assert lineage(table) == {**expected, 11: (5, 3)}


def test_a_split_of_a_file_knows_the_ids_of_its_rows():
    table = v3(**{"write.parquet.row-group-size-bytes": "1024"})
    table.append(rows(id=range(20_000)))
    scan = table.scan(metadata_columns=LINEAGE)
    plan = scan.plan_files()
    groups = plan.groups(SplitOptions(4096, 10, 0))
    assert len(groups) > 1
    parts = [
        batch
        for group in groups
        for task in group
        for batch in read_task(plan.context, table.io, task)
    ]
    found = pa.Table.from_batches(parts)
    assert found["_row_id"].to_pylist() == found["id"].to_pylist() == list(range(20_000))


@pytest.mark.parametrize("version", ["1", "2"])
def test_an_upgraded_tables_rows_have_ids_from_the_next_commit_on(version: str):
    table = make(format_version=version)
    table.append(rows(id=[1, 2]))
    table.update_properties().set({"format-version": "3"}).commit()
    old = table.refresh().current_snapshot()
    assert lineage(table) == {1: (None, None), 2: (None, None)}
    table.append(rows(id=[3]))
    first = {"1": 0, "2": 1}[version]
    assert lineage(table) == {1: (1, first), 2: (2, first), 3: (0, first + 1)}
    assert old is not None
    assert lineage(table, snapshot_id=old.snapshot_id) == {1: (None, None), 2: (None, None)}


@pytest.mark.parametrize("name", LINEAGE)
@pytest.mark.parametrize("version", ["1", "2"])
def test_before_version_3_a_row_id_is_an_error_that_names_the_format_version(
    version: str, name: str
):
    table = make(format_version=version)
    with pytest.raises(
        InvalidOptionError, match=rf"'{name}' needs format-version 3.*has {version}"
    ):
        table.scan(metadata_columns=(name,)).to_arrow()
    with pytest.raises(InvalidOptionError, match="format-version 3"):
        table.scan(selected_fields=("id", name)).to_arrow()


def test_a_column_does_not_take_the_name_of_one_of_lineage():
    table = v3()
    for name in (*LINEAGE, "_ROW_ID"):
        with pytest.raises(InvalidSchemaError, match=f"can't be named '{name}'"):
            table.update_schema().add_column(name, "bigint").commit()
        with pytest.raises(InvalidSchemaError, match=f"can't be named '{name}'"):
            table.update_schema().rename_column("id", name).commit()
    with pytest.raises(InvalidSchemaError, match="can't be named '_row_id'"):
        make(schema="id bigint, _row_id bigint")
    table.update_schema().add_column("inner", "struct<_row_id: bigint>").commit()


def with_own_column(table: Table) -> Table:
    """The table with a column of its own named `_row_id`, as Java lets one be added."""
    catalog = FileSystemCatalog("c")
    base = catalog.load(table.location())
    own = NestedField(2, "_row_id", LongType())
    wider = type(base.metadata.schema)(*base.metadata.schema.fields, own, schema_id=1)
    catalog.commit(base.identifier, (), (AddSchema(wider), SetCurrentSchema()), base)
    return ice.load_table(table.location())


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_table_with_an_own_column_of_the_name_is_read_and_changed(version: str):
    table = with_own_column(make(schema="id bigint", format_version=version))
    table.append(pa.table({"id": [1], "_row_id": [7]}))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "_row_id": 7}]
    assert table.scan(selected_fields=("_row_id",)).to_arrow()["_row_id"].to_pylist() == [7]
    table.update_schema().add_column("n", "bigint").commit()
    with pytest.raises(IcebergError, match=r"rename_column\('_row_id', 'own_row_id'\)"):
        table.scan(metadata_columns=("_row_id",)).to_arrow()
    table.update_schema().rename_column("_row_id", "own_row_id").commit()
    assert table.scan().to_arrow()["own_row_id"].to_pylist() == [7]


def test_a_table_with_an_own_column_of_the_name_is_upgraded_once_it_is_renamed():
    table = with_own_column(make(schema="id bigint"))
    upgrade = {"format-version": "3"}
    with pytest.raises(IcebergError, match=r"rename_column\('_row_id', 'own_row_id'\)"):
        table.update_properties().set(upgrade).commit()
    table.update_schema().rename_column("_row_id", "own_row_id").commit()
    table.update_properties().set(upgrade).commit()
    assert table.refresh().metadata.format_version == 3


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_that_a_delete_rewrites_keep_their_ids_and_numbers(kind: str):
    table = v3(partition_by=["k"], **{"write.format.default": kind})
    table.append(rows(id=[1, 2, 3, 4], k=["a", "b", "a", "b"]))
    table.append(rows(id=[5, 6], k=["a", "a"]))
    before = lineage(table)
    table.delete("id in (1, 5)")
    kept = {number: known for number, known in before.items() if number not in (1, 5)}
    assert lineage(table) == kept
    table.append(rows(id=[7], k=["a"]))
    table.delete("id = 3")  # of a file that holds row ids itself
    kept.pop(3)
    found = lineage(table)
    assert {number: found[number] for number in kept} == kept
    assert found[7][0] not in {row_id for row_id, _ in kept.values()}


def test_rows_that_an_overwrite_by_filter_keeps_keep_their_ids():
    table = v3()
    table.append(rows(id=[1, 2, 3]))
    before = lineage(table)
    table.overwrite(rows(id=[20]), "id = 2")
    found = lineage(table)
    assert {number: found[number] for number in (1, 3)} == {1: before[1], 3: before[3]}
    assert found[20][0] not in {row_id for row_id, _ in before.values()}


def test_an_overwrite_of_everything_makes_new_rows():
    table = v3()
    table.append(rows(id=[1, 2]))
    table.overwrite(rows(id=[1, 2]))
    assert lineage(table) == {1: (2, 2), 2: (3, 2)}


def test_rows_without_ids_get_them_where_the_first_commit_after_an_upgrade_rewrites_them():
    table = make()
    table.append(rows(id=[1, 2, 3]))
    table.update_properties().set({"format-version": "3"}).commit()
    table.refresh().delete("id = 2")
    assert lineage(table) == {1: (0, 2), 3: (1, 2)}


def test_rows_of_a_table_with_an_own_column_of_the_name_are_new_ones_when_rewritten():
    table = with_own_column(make(schema="id bigint", format_version="3"))
    table.append(pa.table({"id": [1, 2], "_row_id": [7, 8]}))
    table.delete("id = 1")
    assert table.scan().to_arrow().to_pylist() == [{"id": 2, "_row_id": 8}]


def test_the_columns_of_lineage_are_no_columns_of_the_table():
    table = v3()
    table.append(rows(id=[1, 2]))
    table.delete("id = 1")
    assert table.scan().to_arrow().column_names == ["id", "k"]
    assert list(table.schema().column_names) == ["id", "k"]
    (file,) = table.inspect.files().to_pylist()
    assert set(file["readable_metrics"]) == {"id", "k"}


def told(table: Table, *args: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Changes by row id as (ordinal, type, row id, id, k), sorted."""
    found = table.scan().changes(*args, by="row-id", **options).to_arrow().to_pylist()
    order = ("_change_ordinal", "_change_type", "_row_id", "id", "k")
    return sorted(tuple(row[name] for name in order) for row in found)


def rewritten(table: Table, gone: list[int], *lines: tuple[Any, ...]) -> None:
    """Replace the file of some ids by rows of (id, k, row id, number of the last update)."""
    files = {task.file_path for task in table.scan(f"id = {gone[0]}").plan_files()}
    old = [data_file(task) for task in table.scan().plan_files() if task.file_path in files]
    context = keeping_lineage(write_context(table.metadata))
    columns = list(zip(*lines, strict=True))
    given = rows(
        id=list(columns[0]),
        k=list(columns[1]),
        _row_id=pa.array(columns[2], pa.int64()),
        _last_updated_sequence_number=pa.array(columns[3], pa.int64()),
    )
    new = write_sorted_files(context, table.io, given.to_batches())
    with table.transaction() as tx:
        tx.overwrite_files(add=new, delete=old)


@pytest.fixture
def updated() -> tuple[Table, list[int]]:
    """Ids 1 to 4; then 2 becomes 20 and 3 is replaced by a new row; then 20 becomes 21."""
    table = v3()
    table.append(rows(id=[1, 2, 3, 4], k=["a", "b", "c", "d"]))
    lines = ((1, "a", 0, 1), (20, "b", 1, None), (3, "c", None, None), (4, "d", 3, 1))
    rewritten(table, [1], *lines)
    lines = ((1, "a", 0, 1), (21, "b", 1, None), (3, "c", 6, 2), (4, "d", 3, 1))
    rewritten(table, [1], *lines)
    return table.refresh(), [one.snapshot_id for one in table.refresh().snapshots()]


def test_changes_by_row_id_tell_updates_from_rows_that_are_replaced(
    updated: tuple[Table, list[int]],
) -> None:
    table, snapshots = updated
    assert told(table, snapshots[0]) == [
        (0, "DELETE", 2, 3, "c"),
        (0, "INSERT", 6, 3, "c"),
        (0, "UPDATE_AFTER", 1, 20, "b"),
        (0, "UPDATE_BEFORE", 1, 2, "b"),
        (1, "UPDATE_AFTER", 1, 21, "b"),
        (1, "UPDATE_BEFORE", 1, 20, "b"),
    ]


def test_net_changes_by_row_id_are_one_update_of_a_row(updated: tuple[Table, list[int]]) -> None:
    table, snapshots = updated
    assert told(table, snapshots[0], net_changes=True) == [
        (0, "DELETE", 2, 3, "c"),
        (0, "UPDATE_BEFORE", 1, 2, "b"),
        (1, "INSERT", 6, 3, "c"),
        (1, "UPDATE_AFTER", 1, 21, "b"),
    ]


def test_changes_by_row_id_show_the_lineage_of_the_rows(updated: tuple[Table, list[int]]) -> None:
    table, snapshots = updated
    found = table.scan("id > 20", selected_fields=("id",)).changes(snapshots[0], by="row-id")
    assert found.to_arrow().column_names[:3] == ["id", *LINEAGE]
    assert [row["_last_updated_sequence_number"] for row in found.to_arrow().to_pylist()] == [3]


def test_rows_without_ids_can_not_be_told_apart_by_them():
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    with pytest.raises(InvalidOptionError, match="format-version 3"):
        told(table)
    table.update_properties().set({"format-version": "3"}).commit()
    table.delete("id = 1")
    table.append(rows(id=[3], k=["c"]))
    snapshots = [one.snapshot_id for one in table.refresh().snapshots()]
    with pytest.raises(InvalidInputError, match=f"{snapshots[1]}.*without row ids.*upgrade"):
        told(table, snapshots[0])
    assert told(table, snapshots[1]) == [(0, "INSERT", 1, 3, "c")]


def test_row_ids_and_identifier_columns_exclude_each_other():
    with pytest.raises(InvalidInputError, match="exclude each other"):
        told(v3(), identifier_columns=("id",))
    with pytest.raises(InvalidOptionError, match="by must be one of row-id"):
        v3().scan().changes(by="key")  # type: ignore[arg-type]
