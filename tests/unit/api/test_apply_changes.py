"""`t.apply_changes`: what counts as later, what the ledger knows, and what goes back with what."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.api.staged_changes import StagedChanges
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidSchemaError,
    UnsupportedError,
    ValidationException,
)
from tests.cdc_model import Change, current, frame

A, B, C = ("a", 1.0), ("b", 2.0), ("c", 3.0)
NAMED = "id bigint, name string, price double, seq bigint"


@pytest.fixture
def table(tmp_path: Path) -> ice.Table:
    return ice.create_table(str(tmp_path / "t"), NAMED)


def apply(table: ice.Table, *changes: Change | tuple[Any, ...], **options: Any) -> Any:
    rows = frame(Change(*change) for change in changes)
    given = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op = 'D'", **options}
    return table.apply_changes(rows, **given)


def rows(table: ice.Table, **options: Any) -> list[tuple[Any, ...]]:
    found = table.scan(**options).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def history(table: ice.Table) -> list[tuple[Any, ...]]:
    found = table.scan(selected_fields=("name", "__START_AT", "__END_AT")).to_arrow()
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=lambda row: row[1])


def test_a_change_that_comes_late_does_nothing(table: ice.Table) -> None:
    apply(table, (1, 5, A))
    done = apply(table, (1, 4, B))
    assert rows(table) == [(1, *A, 5)]
    assert (done.inserted, done.updated, done.deleted) == (0, 0, 0)


def test_the_counts_are_those_of_rows(table: ice.Table) -> None:
    apply(table, (1, 1, A), (2, 1, A))
    done = apply(table, (1, 2, None), (2, 2, B), (3, 2, C))
    assert (done.inserted, done.updated, done.deleted) == (1, 1, 1)


def test_a_change_equal_to_the_stored_one_is_a_replay(table: ice.Table) -> None:
    apply(table, (1, 5, A))
    before = table.current_snapshot()
    apply(table, (1, 5, A), (1, 5, A))
    assert table.current_snapshot() == before


def test_a_deleted_row_stays_deleted(table: ice.Table) -> None:
    apply(table, (1, 1, A))
    apply(table, (1, 5, None))
    apply(table, (1, 4, B))
    assert rows(table) == []
    apply(table, (1, 6, C))
    assert rows(table) == [(1, *C, 6)]


def test_a_delete_before_its_row_is_remembered(table: ice.Table) -> None:
    apply(table, (9, 5, None))
    assert rows(table) == []
    apply(table, (9, 4, A))
    assert rows(table) == []


def test_a_delete_that_is_older_than_the_row_is_ignored(table: ice.Table) -> None:
    apply(table, (1, 5, A))
    apply(table, (1, 4, None))
    assert rows(table) == [(1, *A, 5)]


def test_deletes_are_forgotten_after_the_retention(table: ice.Table) -> None:
    table.update_properties().set({"cdc.tombstone-retention": "1 ms"}).commit()
    apply(table, (1, 5, None))
    time.sleep(0.01)
    apply(table, (1, 4, A))
    assert rows(table) == [(1, *A, 4)]


@pytest.mark.parametrize("text", ["soon", "7 years ago", "-1", ""])
def test_a_retention_that_is_no_length_of_time_is_refused(table: ice.Table, text: str) -> None:
    with pytest.raises(ValueError, match="length of time"):
        table.update_properties().set({"cdc.tombstone-retention": text}).commit()


def test_a_sequence_that_is_null_is_refused(table: ice.Table) -> None:
    given = frame([Change(1, 1, A)]).set_column(3, "seq", pa.array([None], pa.int64()))
    with pytest.raises(InvalidInputError, match="sequence_by is NULL in 1 rows"):
        table.apply_changes(given, keys=["id"], sequence_by="seq", except_column_list=["op"])


def test_a_key_that_is_null_is_refused(table: ice.Table) -> None:
    given = frame([Change(1, 1, A)]).set_column(0, "id", pa.array([None], pa.int64()))
    with pytest.raises(InvalidInputError, match="Key column 'id' is NULL in 1 rows"):
        table.apply_changes(given, keys=["id"], sequence_by="seq", except_column_list=["op"])


@pytest.mark.parametrize("other", [B, None])
def test_different_changes_of_one_sequence_are_refused(table: ice.Table, other: Any) -> None:
    with pytest.raises(InvalidInputError, match="'id': 1} have the sequence 5"):
        apply(table, (1, 5, A), (1, 9, A), (1, 5, other))
    assert table.current_snapshot() is None


def test_a_sequence_column_that_the_table_lacks_becomes_part_of_it(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, name string, price double")
    apply(table, (1, 5, A))
    assert [field.name for field in table.schema()] == ["id", "name", "price", "seq"]
    assert rows(table) == [(1, *A, 5)]


def test_a_sequence_column_with_a_hidden_name_is_no_part_of_the_table(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, name string, price double")
    for batch in ([Change(1, 5, A)], [Change(1, 4, B), Change(2, 1, A)]):
        table.apply_changes(
            frame(batch, "__seq"),
            keys=["id"],
            sequence_by="__seq",
            apply_as_deletes="op = 'D'",
        )
    assert rows(table) == [(1, *A), (2, *A)]
    assert [field.name for field in table.schema()] == ["id", "name", "price"]


def test_no_delete_is_remembered_as_a_row(table: ice.Table) -> None:
    apply(table, (1, 1, A), (2, 1, A))
    apply(table, (1, 5, None))
    assert rows(table) == [(2, *A, 1)]
    assert table.inspect.files().num_rows == 1
    assert [field.name for field in table.schema()] == ["id", "name", "price", "seq"]


def test_a_rollback_takes_the_deletes_back_that_came_after(table: ice.Table) -> None:
    apply(table, (1, 1, A), (2, 1, A))
    apply(table, (2, 3, None))
    before = table.current_snapshot()
    apply(table, (1, 5, None))
    table.manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()
    apply(table, (1, 4, B), (2, 2, B))
    assert rows(table) == [(1, *B, 4)]


def test_a_branch_remembers_what_it_came_from_and_its_own(table: ice.Table) -> None:
    apply(table, (1, 1, A))
    apply(table, (1, 5, None))
    head = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_branch(head, "b").commit()
    apply(table, (2, 5, None), branch="b")
    apply(table, (1, 4, B), (2, 4, B), branch="b")
    assert rows(table, branch="b") == []
    apply(table, (1, 4, B), (2, 4, B))
    assert rows(table) == [(2, *B, 4)]


def test_deletes_stay_known_when_the_snapshot_of_the_delete_expires(table: ice.Table) -> None:
    apply(table, (1, 1, A))
    apply(table, (1, 5, None))
    for number in range(3):
        table.append(frame([Change(10 + number, 1, A)]).drop_columns("op"))
    table.maintenance.expire_snapshots(older_than=2**62)
    apply(table, (1, 4, B))
    assert len(rows(table)) == 3
    table.maintenance.remove_orphan_files(older_than=2**62, allow_recent=True)
    apply(table, (1, 3, C))
    assert len(rows(table)) == 3


def test_a_ledger_that_somebody_dropped_is_an_error_until_it_is_given_up(table: ice.Table) -> None:
    apply(table, (1, 1, A), (2, 1, A))
    apply(table, (1, 5, None))
    table.manage_snapshots().remove_branch("__cdc_main").commit()
    table.maintenance.expire_snapshots(older_than=2**62)
    with pytest.raises(ValidationException, match=r"'cdc\.missing-ledger' to 'forget'"):
        apply(table, (1, 4, B))
    table.update_properties().set({"cdc.missing-ledger": "forget"}).commit()
    apply(table, (1, 4, B))
    assert rows(table) == [(1, *B, 4), (2, *A, 1)]


def test_a_truncation_deletes_what_came_before_it(table: ice.Table) -> None:
    def truncate(*changes: Any) -> None:
        apply(table, *changes, apply_as_truncates="name = 'truncate'")

    apply(table, (1, 1, A), (2, 8, A))
    truncate((7, 5, ("truncate", None)), (3, 6, A), (4, 4, A))
    assert rows(table) == [(2, *A, 8), (3, *A, 6)]
    apply(table, (1, 2, B), (5, 9, B))
    assert rows(table) == [(2, *A, 8), (3, *A, 6), (5, *B, 9)]
    truncate((7, 3, ("truncate", None)))
    assert len(rows(table)) == 3


def test_a_truncation_alone_is_remembered_of_an_empty_table_too(table: ice.Table) -> None:
    options = {"apply_as_truncates": "name = 'truncate'"}
    apply(table, (7, 5, ("truncate", None)), **options)
    apply(table, (1, 4, A), (2, 6, A), **options)
    assert rows(table) == [(2, *A, 6)]
    apply(table, (7, 9, ("truncate", None)), **options)
    assert rows(table) == []


def test_a_truncation_goes_by_the_ledger_where_no_column_has_sequences(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, name string, price double")

    def change(*changes: Any) -> None:
        given = frame((Change(*one) for one in changes), "__seq")
        options = {"sequence_by": "__seq", "apply_as_truncates": "name = 'truncate'"}
        table.apply_changes(given, keys=["id"], except_column_list=["op"], **options)

    change((1, 1, A), (2, 3, A))
    change((7, 5, ("truncate", None)), (3, 6, A))
    assert rows(table) == [(3, *A)]
    change((1, 4, B), (2, 8, B))
    assert rows(table) == [(2, *B), (3, *A)]
    with pytest.raises(UnsupportedError, match="arrived after newer changes"):
        change((7, 7, ("truncate", None)))


@pytest.mark.parametrize(
    "other", [{"keys": ["name"]}, {"stored_as_scd_type": 2}, {"sequence_by": "name"}]
)
def test_keys_order_and_type_stay_those_of_the_first_changes(table: ice.Table, other: Any) -> None:
    apply(table, (1, 1, A), (2, 1, None))
    with pytest.raises(InvalidInputError, match="must equal those of the first changes"):
        apply(table, (1, 2, B), **other)


def test_truncations_of_a_history_are_refused(table: ice.Table) -> None:
    with pytest.raises(InvalidInputError, match="stored_as_scd_type=1"):
        apply(table, (1, 1, A), stored_as_scd_type=2, apply_as_truncates="op = 'T'")


def test_columns_are_chosen_as_asked(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), NAMED)
    apply(table, (1, 1, A), column_list=["id", "name", "seq"])
    assert rows(table) == [(1, "a", None, 1)]
    apply(table, (1, 2, B), except_column_list=["op", "name"])
    assert rows(table) == [(1, None, 2.0, 2)]
    with pytest.raises(InvalidInputError, match="exclude each other"):
        apply(table, (1, 3, A), column_list=["id"], except_column_list=["op"])
    with pytest.raises(InvalidInputError, match="no column 'nme'"):
        apply(table, (1, 3, A), except_column_list=["nme"])


def test_a_column_that_the_table_lacks_is_refused(table: ice.Table) -> None:
    given = frame([Change(1, 1, A)])
    with pytest.raises(InvalidSchemaError, match=r"no column 'op'; .*except_column_list"):
        table.apply_changes(given, keys=["id"], sequence_by="seq")


def test_a_history_says_what_was_when(table: ice.Table) -> None:
    apply(table, (1, 1, A), (1, 5, B), stored_as_scd_type=2)
    apply(table, (1, 3, C), stored_as_scd_type=2)
    assert history(table) == [("a", 1, 3), ("c", 3, 5), ("b", 5, None)]
    apply(table, (1, 4, None), (1, 7, None), stored_as_scd_type=2)
    assert history(table) == [("a", 1, 3), ("c", 3, 4), ("b", 5, 7)]


def test_values_that_did_not_change_make_no_row_until_one_comes_between(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, name string, price double")
    options = {"stored_as_scd_type": 2, "except_column_list": ["seq", "op"]}
    apply(table, (1, 1, A), (1, 5, A), **options)
    assert history(table) == [("a", 1, None)]
    apply(table, (1, 3, B), **options)
    assert history(table) == [("a", 1, 3), ("b", 3, 5), ("a", 5, None)]


def test_a_replay_of_a_history_makes_no_snapshot(table: ice.Table) -> None:
    batch = [(1, 1, A), (1, 5, None), (2, 2, B)]
    apply(table, *batch, stored_as_scd_type="2")
    before = table.refs()
    apply(table, *batch, stored_as_scd_type="2")
    assert table.refs() == before


@pytest.mark.parametrize("theirs", [[(1, 5, B), (2, 5, None)], [(2, 5, None)], [(1, 5, None)]])
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_others_that_come_first_are_looked_at_again(
    table: ice.Table, monkeypatch: pytest.MonkeyPatch, theirs: Any, mode: str
) -> None:
    table.update_properties().set({"write.merge.mode": mode}).commit()
    apply(table, (1, 1, A))
    other = ice.load_table(table.location())
    land, came = StagedChanges.land, []

    def land_second(changes: Any, take: Any) -> None:
        if not came:
            came.append(True)
            apply(other, *theirs)
        land(changes, take)

    monkeypatch.setattr(StagedChanges, "land", land_second)
    apply(table, (1, 3, C), (2, 3, C), (3, 3, C))
    ours = [Change(1, 1, A), Change(1, 3, C), Change(2, 3, C), Change(3, 3, C)]
    everything = current([*ours, *(Change(*change) for change in theirs)])
    assert rows(table) == sorted(everything.values())


def test_a_batch_of_an_application_lands_once(table: ice.Table) -> None:
    apply(table, (1, 1, A), txn_app_id="app", txn_version=3)
    apply(table, (1, 2, B), txn_app_id="app", txn_version=3)
    assert rows(table) == [(1, *A, 1)]


def test_changes_go_with_others_of_a_transaction(table: ice.Table) -> None:
    with table.transaction() as tx:
        apply(tx, (1, 1, A), (2, 5, None))
        apply(tx, (1, 2, B), (2, 4, A), (3, 1, C), (4, 9, None))
    assert rows(table) == [(1, *B, 2), (3, *C, 1)]
    apply(table, (2, 4, A), (4, 8, A))
    assert len(rows(table)) == 2


def test_other_writers_rows_are_older_than_any_change(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, name string, price double")
    table.append(frame([Change(1, 1, A)]).select(["id", "name", "price"]))
    apply(table, (1, 1, B), (2, 1, A), except_column_list=["op"])
    assert rows(table) == [(1, *B, 1), (2, *A, 1)]


def test_values_of_a_history_are_compared_as_they_are(tmp_path: Path) -> None:
    nested = "struct<a: bigint, b: array<bigint>>"
    schema = f"id bigint not null, s {nested}, m map<string, bigint>, f double"
    table = ice.create_table(str(tmp_path / "t"), schema)

    def change(at: int, number: float, gone: bool = False) -> None:
        given = pa.table(
            {
                "id": [1],
                "s": [{"a": 1, "b": [1, None]}],
                "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
                "f": [number],
                "__seq": [at],
                "gone": [gone],
            }
        )
        options = {"sequence_by": "__seq", "apply_as_deletes": "gone", "stored_as_scd_type": 2}
        table.apply_changes(given, keys=["id"], **options)

    for at, number in ((1, float("nan")), (2, float("nan")), (5, 0.0), (6, -0.0)):
        change(at, number)
    change(9, 0.0, gone=True)
    found = table.scan(selected_fields=("__START_AT", "__END_AT")).to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [(1, 5), (5, 9)]


def test_names_are_matched_without_case_where_asked(table: ice.Table) -> None:
    given = frame([Change(1, 5, A)]).rename_columns(["ID", "Name", "PRICE", "Seq", "op"])
    options = {"sequence_by": "Seq", "except_column_list": ["OP"], "case_sensitive": False}
    table.apply_changes(given, keys=["Id"], **options)
    assert rows(table) == [(1, *A, 5)]
    assert len(table.schema().fields) == 4


def test_changes_that_are_to_be_staged_are_refused(table: ice.Table) -> None:
    table.update_properties().set({"write.wap.enabled": "true"}).commit()
    with pytest.raises(InvalidInputError, match="can't be staged"):
        apply(table, (1, 1, None), snapshot_properties={"wap.id": "1"})


def test_a_branch_that_is_renamed_keeps_what_it_remembers(table: ice.Table) -> None:
    apply(table, (1, 1, A))
    head = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_branch(head, "b").commit()
    apply(table, (1, 5, None), branch="b")
    table.manage_snapshots().rename_branch("b", "c").commit()
    apply(table, (1, 4, B), (2, 3, None), branch="c")
    apply(table, (2, 2, B), branch="c")
    assert rows(table, branch="c") == []
    assert rows(table) == [(1, *A, 1)]


def test_an_empty_batch_changes_nothing(table: ice.Table) -> None:
    apply(table, stored_as_scd_type=2)
    assert table.current_snapshot() is None
    assert len(table.schema().fields) == 4


@pytest.mark.parametrize("keys", [[], "id", ["nope"], ["id", "id"]])
def test_keys_that_can_t_be_are_refused(table: ice.Table, keys: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"keys must be|Key column|list of columns"):
        apply(table, (1, 1, A), keys=keys)


def test_a_sequence_that_does_not_order_surely_is_refused(table: ice.Table) -> None:
    with pytest.raises(InvalidInputError, match="type double, which does not order"):
        apply(table, (1, 1, A), sequence_by="price")


def test_rows_of_before_a_history_of_one_key_are_refused(table: ice.Table) -> None:
    """Of these one would stay, and nothing says which."""
    table.append(pa.table({"id": [1, 1], "name": ["a", "b"], "price": [1.0, 2.0], "seq": [1, 2]}))
    before = rows(table)
    with pytest.raises(InvalidInputError, match=r"2 rows .*same __START_AT.*'id': 1"):
        apply(table, (1, 10, C), stored_as_scd_type=2)
    assert rows(table.refresh()) == before
    apply(table, (2, 10, C), stored_as_scd_type=2)
    assert len(rows(table)) == 3


def test_a_new_column_is_refused_though_a_condition_has_its_letters(table: ice.Table) -> None:
    given = frame([Change(1, 1, A)]).rename_columns(
        ["op_type" if name == "op" else name for name in frame([Change(1, 1, A)]).column_names]
    )
    given = given.append_column("type", pa.array(["gold"]))
    options = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op_type = 'type'"}
    with pytest.raises(InvalidSchemaError, match="no column 'type'"):
        table.apply_changes(given, **options)
    table.apply_changes(given.drop_columns(["type"]), **options)
    assert rows(table) == [(1, *A, 1)]


def test_a_column_that_a_predicate_alone_uses_need_not_be_the_tables(table: ice.Table) -> None:
    given = frame([Change(1, 1, A), Change(2, 1, A)]).rename_columns(
        {"op": "kind"} | {name: name for name in ("id", "name", "price", "seq")}
    )
    for condition in (ice.col("kind") == "D", "kind = 'D'", "kind = 'D' or 1 = 1 and kind = 'D'"):
        table.apply_changes(given, keys=["id"], sequence_by="seq", apply_as_deletes=condition)
    assert rows(table) == [(1, *A, 1), (2, *A, 1)]


def wider(*changes: tuple[Any, ...]) -> pa.Table:
    names = ("id", "name", "seq", "op", "added")
    return pa.table({name: [row[at] for row in changes] for at, name in enumerate(names)})


MERGED = {"keys": ["id"], "sequence_by": "seq", "apply_as_deletes": "op = 'D'"}


def test_columns_that_the_table_lacks_are_added_where_it_is_asked_for(table: ice.Table) -> None:
    apply(table, (1, 1, A))
    changes = wider((1, "b", 2, "U", 0.5), (2, "c", 2, "I", None))
    with pytest.raises(InvalidSchemaError, match=r"no column 'added'; add it .merge_schema=True"):
        table.apply_changes(changes, **MERGED)
    table.apply_changes(changes, **MERGED, merge_schema=True)
    assert rows(table) == [(1, "b", None, 2, 0.5), (2, "c", None, 2, None)]
    assert len(table.history()) == 2  # rows and columns land together


@pytest.mark.parametrize("history", [1, 2])
def test_added_columns_go_with_those_that_changes_need(tmp_path: Path, history: int) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    first = wider((1, "a", 1, "I", 1), (1, "b", 2, "U", 1))
    table.apply_changes(first, **MERGED, merge_schema=True, stored_as_scd_type=history)
    table.apply_changes(
        wider((1, "b", 3, "U", 2)), **MERGED, merge_schema=True, stored_as_scd_type=history
    )
    added = table.scan().to_arrow().sort_by("seq").select(["name", "added"]).to_pylist()
    expected = [{"name": "a", "added": 1}, {"name": "b", "added": 1}, {"name": "b", "added": 2}]
    assert added == expected[-1 if history == 1 else 0 :]
    ids = [field.field_id for field in table.schema().fields]
    assert len(set(ids)) == len(ids)


def test_merged_schemas_widen_types_and_keep_columns_required(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), False), pa.field("n", pa.int32())])
    table = ice.create_table(str(tmp_path / "t"), schema)
    changes = pa.table({"id": [1], "n": [2**40], "ts": [1]})
    table.apply_changes(changes, ["id"], "ts", merge_schema=True)
    assert rows(table) == [(1, 2**40, 1)]
    assert table.schema().find_field("id").required
    text = pa.table({"id": [1], "n": ["x"], "ts": [2]})
    with pytest.raises(InvalidSchemaError, match=r"'n' is long in the table and string"):
        table.apply_changes(text, ["id"], "ts", merge_schema=True)


def test_names_of_added_columns_are_matched_as_the_caller_says(table: ice.Table) -> None:
    changes = pa.table({"ID": [1], "Name": ["a"], "seq": [1], "More": ["m"]})
    table.apply_changes(changes, ["id"], "seq", merge_schema=True, case_sensitive=False)
    assert table.schema().column_names == ("id", "name", "price", "seq", "More")


def timed(*changes: tuple[int, str, int], offsets: bool) -> pa.Table:
    """Messages of Debezium; without offsets `__seq` is `ts_ms` alone, as it once always was."""
    messages = [
        json.dumps({"op": "u", "after": {"id": key, "name": name}, "ts_ms": at}).encode()
        for key, name, at in changes
    ]
    records = pa.table({"value": messages, "offset": range(len(messages))})
    records = records if offsets else records.select(["value"])
    return ice.cdc.debezium(records, "id bigint, name string", sequence="ts_ms")


@pytest.mark.parametrize("sequence", ["__seq", "ts"])
def test_a_table_that_was_ordered_by_times_goes_on_without_offsets(
    tmp_path: Path, sequence: str
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, name string")

    def feed(*changes: tuple[int, str, int], offsets: bool) -> None:
        given = timed(*changes, offsets=offsets)
        names = [sequence if name == "__seq" else name for name in given.column_names]
        table.apply_changes(
            given.rename_columns(names), ["id"], sequence, apply_as_deletes="__deleted"
        )

    feed((1, "a", 5), (2, "b", 6), offsets=False)
    with pytest.raises(InvalidInputError, match=r"ts_ms.*leave the column 'offset' out"):
        feed((1, "c", 7), offsets=True)
    feed((1, "c", 7), (2, "late", 4), offsets=False)
    names = table.scan(selected_fields=("id", "name")).to_arrow().sort_by("id").to_pylist()
    assert names == [{"id": 1, "name": "c"}, {"id": 2, "name": "b"}]
