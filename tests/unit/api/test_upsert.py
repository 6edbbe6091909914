"""Upserts from Arrow: what is written, what is read afterwards, and what is refused."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from iceberg_spark import Table
from iceberg_spark.api.transaction import TableTransaction
from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.commit import commit
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.spec.data_file import DataFileContent
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.updates import AddPartitionSpec, SetDefaultSpec
from iceberg_spark.write.upsert_result import UpsertResult
from tests.unit.api.tables import data_files, make, rows


def ints(*values: int | None) -> pa.Array:
    return pa.array(values, pa.int64())


def live(table: Table) -> set[tuple[Any, ...]]:
    """All rows of a table, in which no row is there twice."""
    found = [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]
    assert len(found) == len(set(found))
    return set(found)


def delete_files(table: Table) -> list[tuple[str, int, int]]:
    """(kind, rows, data sequence number) of every delete file that the newest scan uses."""
    found = {
        (delete.file_path, delete.content, delete.record_count, delete.data_sequence_number)
        for task in table.scan().plan_files()
        for delete in task.delete_files
    }
    kinds = {
        DataFileContent.POSITION_DELETES: "position",
        DataFileContent.EQUALITY_DELETES: "equal",
    }
    return sorted((kinds[kind], count, number) for _, kind, count, number in found)


def test_rows_of_earlier_commits_are_replaced_by_key() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.upsert(rows(id=[2, 3], k=["B", "C"]), keys=["id"])
    assert live(table) == {(1, "a"), (2, "B"), (3, "C")}
    table.upsert(rows(id=[3], k=["c"]), ["id"])
    assert live(table) == {(1, "a"), (2, "B"), (3, "c")}


@pytest.mark.parametrize("insert", ["I", "U", "+I", "+U", "INSERT", "UPDATE_AFTER"])
@pytest.mark.parametrize("delete", ["D", "-D", "-U", "DELETE", "UPDATE_BEFORE"])
def test_operations_in_all_their_forms(insert: str, delete: str) -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.upsert(rows(id=[1, 2], k=[None, "B"], _op=[delete, insert]), ["id"])
    assert live(table) == {(2, "B")}


def test_a_changed_key_is_a_delete_of_the_old_one_and_an_insert_of_the_new_one() -> None:
    table = make()
    table.append(rows(id=[1], k=["a"]))
    table.upsert(rows(id=[1, 9], k=["a", "a"], _op=["-U", "+U"]), ["id"])
    assert live(table) == {(9, "a")}


def test_inside_a_batch_the_last_row_of_a_key_wins_and_earlier_ones_go_by_position() -> None:
    table = make()
    result = table.upsert(rows(id=[1, 2, 1, 1], k=["a", "b", "c", "d"]), ["id"])
    assert live(table) == {(1, "d"), (2, "b")}
    assert result == UpsertResult(4, 2, 2, 1, 2)
    assert delete_files(table) == [("position", 2, 1)]  # its equality deletes reach no row of it


def test_a_row_inserted_and_deleted_in_one_batch_is_not_there() -> None:
    table = make()
    batch = rows(id=[1, 1, 2, 2], k=["a", None, None, "b"], _op=["I", "D", "D", "I"])
    table.upsert(batch, ["id"])
    assert live(table) == {(2, "b")}


def test_only_deletes_write_no_data_file() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    result = table.upsert(rows(id=[1, 7], _op=["D", "D"]), ["id"])
    assert live(table) == {(2, "b")}
    assert result == UpsertResult(0, 2, 0, 0, 1)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.operation == "delete"


def test_counts_are_in_the_summary() -> None:
    table = make()
    table.upsert(rows(id=[1, 1, 2], k=["a", "b", "c"]), ["id"])
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    counts = {key: int(value) for key, value in snapshot.summary.items() if value.isdigit()}
    assert counts["added-records"] == 3
    assert counts["added-position-deletes"] == 1
    assert counts["added-equality-deletes"] == 2
    assert counts["total-equality-deletes"] == 2
    assert counts["total-position-deletes"] == 1


def test_nothing_to_write_makes_no_snapshot() -> None:
    table = make()
    assert table.upsert(rows(id=ints(), k=pa.array([], pa.string())), ["id"]) == UpsertResult()
    assert table.current_snapshot() is None


@pytest.mark.parametrize(
    "order", [[3, 1, 2], [None, 2, 1], [1.5, float("nan"), -0.0], ["b", "c", "a"]]
)
def test_order_columns_say_which_row_is_the_last(order: list[Any]) -> None:
    """Nulls first, NaN last, as Spark sorts."""
    table = make()
    table.upsert(rows(id=[1, 1, 1], k=["a", "b", "c"], at=order), ["id"], order_by="at")
    last = max(
        range(3), key=lambda at: (order[at] is not None, order[at] != order[at], order[at] or 0)
    )
    assert live(table) == {(1, "abc"[last])}


def test_a_second_order_column_decides_where_the_first_is_equal() -> None:
    table = make()
    batch = rows(id=[1, 1, 1], k=["a", "b", "c"], x=[5, 5, 4], y=["m", "l", "z"])
    table.upsert(batch, ["id"], order_by=["x", "y"])
    assert live(table) == {(1, "a")}


@pytest.mark.parametrize("order", [[7, 7], [None, None], [float("nan"), float("nan")], [0.0, -0.0]])
def test_a_tie_in_the_order_is_an_error_and_changes_nothing(order: list[Any]) -> None:
    table = make()
    with pytest.raises(InvalidInputError, match=r"equal in the order columns"):
        table.upsert(rows(id=[1, 1], k=["a", "b"], at=order), ["id"], order_by=["at"])
    assert table.current_snapshot() is None
    assert data_files(table) == set()


def test_an_order_column_may_be_one_of_the_table() -> None:
    table = make(schema="id bigint, k string, at int")
    batch = rows(id=[1, 1], k=["a", "b"], at=pa.array([2, 1], pa.int32()))
    table.upsert(batch, ["id"], order_by=["at"])
    assert live(table) == {(1, "a", 2)}


def test_null_keys_are_equal() -> None:
    table = make()
    table.append(rows(id=ints(None, 1), k=["a", "b"]))
    table.upsert(rows(id=ints(None, None), k=["x", "y"]), ["id"])
    assert live(table) == {(None, "y"), (1, "b")}


def test_several_keys_and_null_in_one_of_them() -> None:
    table = make(schema="a int, b string, v int")
    kinds = pa.schema([("a", pa.int32()), ("b", pa.string()), ("v", pa.int32())])
    first = pa.table([[1, 1, None], ["x", None, "x"], [1, 2, 3]], schema=kinds)
    table.upsert(first, ["a", "b"])
    table.upsert(pa.table([[1, None], [None, "x"], [20, 30]], schema=kinds), ["b", "a"])
    assert live(table) == {(1, "x", 1), (1, None, 20), (None, "x", 30)}


def test_a_key_inside_a_struct() -> None:
    table = make(schema="s struct<id: bigint, t: string>, v string")
    nested = pa.struct([("id", pa.int64()), ("t", pa.string())])

    def batch(*pairs: tuple[Any, str]) -> pa.Table:
        return rows(s=pa.array([p[0] for p in pairs], nested), v=[p[1] for p in pairs])

    table.upsert(
        batch(({"id": 1, "t": "a"}, "x"), (None, "n"), ({"id": None, "t": "b"}, "m")), ["s.id"]
    )
    table.upsert(batch(({"id": 1, "t": "b"}, "y")), ["s.id"])
    found = sorted(table.scan().to_arrow()["v"].to_pylist())
    assert found == ["m", "y"]  # a null struct has a null key


def test_required_columns_may_be_null_in_rows_that_delete() -> None:
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), pa.field("k", pa.string(), nullable=False)]
    )
    table = make(schema=schema)
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.upsert(rows(id=[1, 3], k=[None, "c"], _op=["D", "I"]), ["id"])
    assert live(table) == {(2, "b"), (3, "c")}
    with pytest.raises(InvalidInputError, match="'k' is required"):
        table.upsert(rows(id=[1, 3], k=["c", None], _op=["D", "I"]), ["id"])


def test_identifier_fields_are_the_keys_unless_others_are_given() -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("k", pa.string())])
    table = make(schema=schema)
    with pytest.raises(InvalidInputError, match="identifier fields"):
        table.upsert(rows(id=[1], k=["a"]))


# ------------------------------------------------------------------------------- partitions


@pytest.mark.parametrize("by", ["bucket(4, id)", "id", "truncate(10, id)"])
def test_deletes_go_to_the_partition_that_the_key_gives(by: str) -> None:
    table = make(partition_by=[by])
    table.append(rows(id=list(range(40)), k=["a"] * 40))
    table.upsert(rows(id=[3, 13, 23, 3], k=["b", "c", "d", "e"]), ["id"])
    table.upsert(rows(id=[13, 33], k=[None, None], _op=["D", "D"]), ["id"])
    changed = {3: "e", 23: "d"}
    assert live(table) == {(n, changed.get(n, "a")) for n in range(40) if n not in (13, 33)}


def test_partitions_that_the_keys_do_not_give_are_refused_by_name() -> None:
    table = make(partition_by=["k"])
    with pytest.raises(InvalidInputError, match=r"'k'.*global_delete=True"):
        table.upsert(rows(id=[1], k=["a"]), ["id"])


def test_a_global_delete_moves_rows_between_partitions() -> None:
    """Under an unpartitioned spec, which is added and not made the default."""
    table = make(partition_by=["k"])
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.upsert(rows(id=[1, 3, 3], k=["b", "a", "c"]), ["id"], global_delete=True)
    assert live(table) == {(1, "b"), (2, "b"), (3, "c")}
    assert table.metadata.default_spec_id == 0
    assert table.metadata.partition_specs[1] == PartitionSpec(1)
    table.upsert(rows(id=[1], k=["z"]), ["id"], global_delete=True)
    assert set(table.metadata.partition_specs) == {0, 1}
    assert live(table) == {(1, "z"), (2, "b"), (3, "c")}


class _Evolve:
    """Gives a table another default spec."""

    def __init__(self, spec: PartitionSpec) -> None:
        self._spec = spec

    def validate(self, base: Any, io: Any) -> None:
        pass

    def prepare(self, base: Any, io: Any) -> ActionCommit:  # noqa: ARG002
        return ActionCommit((AddPartitionSpec(self._spec), SetDefaultSpec()))

    def clean_up(self, io: Any, committed: Any) -> None:
        pass


def evolve(table: Table, like: Table) -> None:
    """Give a table the default spec of another one."""
    spec = PartitionSpec(0, like.spec().fields)
    commit(table._catalog, table.identifier, _Evolve(spec), table._loaded)
    table.refresh()


def test_rows_under_former_specs_are_reached() -> None:
    """Specification: a delete of a partitioned spec applies to files of that spec only."""
    table = make(partition_by=["bucket(4, id)"])
    table.append(rows(id=[1, 2, 3], k=["a", "b", "c"]))
    evolve(table, make(partition_by=["truncate(10, id)"]))
    table.append(rows(id=[4, 5], k=["d", "e"]))
    table.upsert(rows(id=[2, 4], k=["B", "D"]), ["id"])
    assert live(table) == {(1, "a"), (2, "B"), (3, "c"), (4, "D"), (5, "e")}


def test_one_global_delete_is_enough_where_a_former_spec_is_unpartitioned() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    evolve(table, make(partition_by=["k"]))
    table.upsert(rows(id=[2], k=["B"]), ["id"])
    assert live(table) == {(1, "a"), (2, "B")}


def test_data_that_came_meanwhile_under_another_spec_is_a_conflict() -> None:
    """Its rows would stay beside ours: the deletes were written without knowing of its spec."""
    table = make(partition_by=["bucket(4, id)"])
    table.append(rows(id=[1], k=["a"]))
    other = make(partition_by=["truncate(10, id)"])
    late = table.transaction()
    late.upsert(rows(id=[1], k=["A"]), ["id"])
    evolve(table, other)
    table.append(rows(id=[1], k=["b"]))
    with pytest.raises(ValidationException, match="run it again"):
        late.commit_transaction()
    assert live(table.refresh()) == {(1, "a"), (1, "b")}


# ------------------------------------------------------------------------------ concurrency


def test_of_two_concurrent_upserts_the_later_commit_wins() -> None:
    table = make()
    table.append(rows(id=[1], k=["a"]))
    late = table.transaction()
    late.upsert(rows(id=[1], k=["late"]), ["id"])
    table.upsert(rows(id=[1, 2], k=["early", "b"]), ["id"])
    late.commit_transaction()
    assert live(table.refresh()) == {(1, "late"), (2, "b")}


def test_an_upsert_replaces_rows_that_its_transaction_appended() -> None:
    table = make()
    with table.transaction() as tx:
        tx.append(rows(id=[1, 2], k=["a", "b"]))
        tx.upsert(rows(id=[2], k=["B"]), ["id"])
    assert live(table) == {(1, "a"), (2, "B")}


def test_a_column_may_be_added_in_the_same_transaction() -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    with table.transaction() as tx:
        tx.update_schema().add_column("v", "int").commit()
        tx.upsert(rows(id=[2], k=["B"], v=pa.array([7], pa.int32())), ["id"])
    assert live(table) == {(1, "a", None), (2, "B", 7)}


# -------------------------------------------------------------------------------- bad input


def test_bad_keys_are_refused_by_name() -> None:
    table = make(
        schema="id bigint, f float, d double, l array<int>, m map<string, int>, "
        "s struct<l: array<int>>"
    )
    batch = pa.table({"id": [1]})
    for key in ["f", "d", "l", "m", "s", "l.element", "m.key", "s.l.element", "nope"]:
        with pytest.raises(InvalidInputError, match=key.split(".")[0]):
            table.upsert(batch, [key])
    with pytest.raises(InvalidInputError, match="repeated"):
        table.upsert(batch, ["id", "id"])
    with pytest.raises(InvalidInputError, match="must be a list"):
        table.upsert(batch, "id")


def test_a_source_without_a_key_column_is_refused() -> None:
    """It would be read as NULL in every row."""
    table = make(schema="id bigint, s struct<a: int>, k string")
    with pytest.raises(InvalidInputError, match="lacks the key column 'id'"):
        table.upsert(rows(k=["a"]), ["id"])
    with pytest.raises(InvalidInputError, match=r"lacks the key column 's\.a'"):
        table.upsert(rows(k=["a"], s=pa.array([{}], pa.struct([]))), ["s.a"])


@pytest.mark.parametrize("value", ["X", "i", "", None])
def test_unknown_operations_are_refused(value: str | None) -> None:
    table = make()
    with pytest.raises(InvalidInputError, match="_op"):
        table.upsert(rows(id=[1, 2], k=["a", "b"], _op=pa.array(["I", value], pa.string())), ["id"])
    assert table.current_snapshot() is None
    assert data_files(table) == set()


def test_an_operation_that_is_no_text_or_a_column_of_the_table_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="must be text"):
        make().upsert(rows(id=[1], k=["a"], _op=[1]), ["id"])
    with pytest.raises(InvalidInputError, match="of its own"):
        make(schema="id bigint, _op string").upsert(rows(id=[1], _op=["I"]), ["id"])


def test_unknown_order_columns_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="no column 'at'"):
        make().upsert(rows(id=[1], k=["a"]), ["id"], order_by=["at"])
    with pytest.raises(InvalidInputError, match="has no order"):
        make().upsert(rows(id=[1], k=["a"], at=[[1]]), ["id"], order_by=["at"])


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="no columns 'zz'"):
        make().upsert(rows(id=[1], k=["a"], zz=[1]), ["id"])


def test_v1_tables_are_refused_naming_format_version() -> None:
    with pytest.raises(UnsupportedError, match="format-version"):
        make(format_version="1").upsert(rows(id=[1], k=["a"]), ["id"])


def test_a_failed_upsert_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = make(tmp_path / "t", partition_by=["bucket(2, id)"])

    def fails(*_: object, **__: object) -> None:
        raise IcebergError("the disk is full")

    monkeypatch.setattr("iceberg_spark.write.cdc_writer.write_positions", fails)
    with pytest.raises(IcebergError, match="disk"):
        table.upsert(rows(id=[1, 1, 2], k=["a", "b", "c"]), ["id"])
    assert data_files(table) == set()


def test_a_discarded_transaction_removes_what_an_upsert_wrote() -> None:
    table = make()

    def discarded(tx: TableTransaction) -> None:
        tx.upsert(rows(id=[1, 1], k=["a", "b"]), ["id"])
        raise ArithmeticError

    with pytest.raises(ArithmeticError), table.transaction() as tx:
        discarded(tx)
    assert data_files(table) == set()


def test_branches() -> None:
    table = make()
    table.append(rows(id=[1], k=["a"]))
    head = table.current_snapshot()
    assert head is not None
    table.manage_snapshots().create_branch(head.snapshot_id, "side").commit()
    table.upsert(rows(id=[1], k=["b"]), ["id"], branch="side", snapshot_properties={"by": "me"})
    assert live(table) == {(1, "a")}
    assert table.scan(branch="side").to_arrow()["k"].to_pylist() == ["b"]
