"""`ice.transaction(cat)`: changes of several tables, all in one commit or none."""

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.catalog.memory import MemoryCatalog
from iceberg_spark.catalog.sql_catalog import SqlCatalog
from iceberg_spark.errors import (
    AlreadyCommittedException,
    CommitStateUnknownException,
    InvalidInputError,
    StorageError,
    UnsupportedError,
    ValidationException,
)


@pytest.fixture(params=["memory", "sql"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> TableCatalog:
    place = {"memory": {}, "sql": {"uri": f"sqlite:///{tmp_path}/c.db"}}[request.param]
    name = uuid.uuid4().hex
    made = ice.load_catalog(name, type=request.param, warehouse=str(tmp_path), **place)
    if request.param == "sql":
        made.create_namespace("db")
    for table in ("a", "b"):
        made.create_table(f"db.{table}", "id bigint")
    return made


def rows(*ids: int) -> Any:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(catalog: TableCatalog, table: str) -> list[int]:
    return sorted(catalog.load_table(table).scan().to_arrow()["id"].to_pylist())


def files(folder: Path) -> set[str]:
    return {
        str(path) for path in folder.rglob("*") if path.suffix in (".parquet", ".avro", ".json")
    }


def append_to_both(catalog: TableCatalog, *verbs: Callable[[], object]) -> None:
    with ice.transaction(catalog) as tx:
        tx.load_table("db.a").append(rows(1))
        tx.load_table("db.b").append(rows(2))
        for verb in verbs:
            verb()


def test_changes_of_all_tables_land_together(catalog: TableCatalog) -> None:
    with ice.transaction(catalog) as tx:
        tx.load_table("db.a").append(rows(1, 2))
        tx.load_table("db.b").append(rows(3))
        tx.load_table(("db", "a")).delete("id = 1")
        assert (ids(catalog, "db.a"), ids(catalog, "db.b")) == ([], [])
    assert (ids(catalog, "db.a"), ids(catalog, "db.b")) == ([2], [3])


def test_nothing_lands_when_the_block_fails(catalog: TableCatalog, tmp_path: Path) -> None:
    before = files(tmp_path)
    with pytest.raises(ZeroDivisionError):
        append_to_both(catalog, lambda: 1 / 0)
    assert (ids(catalog, "db.a"), ids(catalog, "db.b")) == ([], [])
    assert files(tmp_path) == before


def test_appends_are_tried_again_on_what_others_committed(catalog: TableCatalog) -> None:
    with ice.transaction(catalog) as tx:
        tx.load_table("db.a").append(rows(1))
        tx.load_table("db.b").append(rows(2))
        catalog.load_table("db.b").append(rows(9))
    assert (ids(catalog, "db.a"), ids(catalog, "db.b")) == ([1], [2, 9])


def test_a_conflict_in_one_table_lands_none(catalog: TableCatalog, tmp_path: Path) -> None:
    catalog.load_table("db.b").append(rows(1, 2))
    tx = ice.transaction(catalog)
    tx.load_table("db.b").delete("id = 1")
    catalog.load_table("db.b").delete("id = 2")
    before = files(tmp_path)
    tx.load_table("db.a").append(rows(7))
    with pytest.raises(ValidationException):
        tx.commit_transaction()
    assert (ids(catalog, "db.a"), ids(catalog, "db.b")) == ([], [1])
    assert not files(tmp_path) - before


@pytest.mark.parametrize("rivals", [("a",), ("a", "b")])
def test_a_batch_that_another_writer_commits_meanwhile_is_left_out(
    catalog: TableCatalog, tmp_path: Path, rivals: tuple[str, ...]
) -> None:
    batch: dict[str, Any] = {"txn_app_id": "app", "txn_version": 1}
    with ice.transaction(catalog) as tx:
        for name, number in (("a", 1), ("b", 2)):
            tx.load_table(f"db.{name}").append(rows(number), **batch)
        for name in rivals:
            catalog.load_table(f"db.{name}").append(rows(7), **batch)
    expected = {name: [7] if name in rivals else [2] for name in ("a", "b")}
    assert {name: ids(catalog, f"db.{name}") for name in ("a", "b")} == expected
    assert len([each for each in files(tmp_path) if each.endswith(".parquet")]) == 2


def test_a_batch_beside_other_changes_of_its_table_is_refused_with_all_tables(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    batch: dict[str, Any] = {"txn_app_id": "app", "txn_version": 1}
    tx = ice.transaction(catalog)
    tx.load_table("db.a").append(rows(1), **batch)
    tx.load_table("db.a").append(rows(2))
    tx.load_table("db.b").append(rows(3))
    before = files(tmp_path)
    catalog.load_table("db.a").append(rows(7), **batch)
    with pytest.raises(AlreadyCommittedException):
        tx.commit_transaction()
    assert (ids(catalog, "db.a"), ids(catalog, "db.b")) == ([7], [])
    assert len([each for each in files(tmp_path) - before if each.endswith(".parquet")]) == 1


def test_tables_that_are_only_looked_at_are_not_committed(catalog: TableCatalog) -> None:
    version = catalog.load_table("db.b").metadata_location
    with catalog.transaction() as tx:
        tx.load_table("db.a").append(rows(1))
        tx.load_table("db.b")
    assert ids(catalog, "db.a") == [1]
    assert catalog.load_table("db.b").metadata_location == version


def test_a_table_of_a_transaction_does_not_land_alone(catalog: TableCatalog) -> None:
    with catalog.transaction() as tx:
        with tx.load_table("db.a") as table:
            table.append(rows(1))
            with pytest.raises(InvalidInputError, match="part of a transaction"):
                table.commit_transaction()
        assert ids(catalog, "db.a") == []
    assert ids(catalog, "db.a") == [1]


def test_definitions_change_with_rows(catalog: TableCatalog) -> None:
    with catalog.transaction() as tx:
        tx.load_table("db.a").update_schema().add_column("k", "string").commit()
        tx.load_table("db.b").set_properties({"seen": "a"})
    assert catalog.load_table("db.a").schema().column_names == ("id", "k")
    assert catalog.load_table("db.b").properties["seen"] == "a"


def test_a_catalog_of_folders_refuses_and_leaves_nothing(tmp_path: Path) -> None:
    folders = ice.load_catalog("c", type="filesystem", warehouse=str(tmp_path))
    for table in ("a", "b"):
        folders.create_table(f"db.{table}", "id bigint")
    before = files(tmp_path)
    with pytest.raises(UnsupportedError, match="several tables"):
        append_to_both(folders)
    assert files(tmp_path) == before
    with folders.transaction() as tx:
        tx.load_table("db.a").append(rows(1))
    assert ids(folders, "db.a") == [1]


@pytest.mark.parametrize("landed", [True, False])
def test_a_lost_answer_is_settled_by_asking_again(
    catalog: TableCatalog, monkeypatch: pytest.MonkeyPatch, landed: bool
) -> None:
    for kind in (MemoryCatalog, SqlCatalog):
        _lose_first_answer(kind, monkeypatch, landed)
    append_to_both(catalog)
    assert (ids(catalog, "db.a"), ids(catalog, "db.b")) == ([1], [2])


def _lose_first_answer(kind: type, monkeypatch: pytest.MonkeyPatch, landed: bool) -> None:
    asked: list[int] = []
    move_all = kind.move_all

    def lost(self: Any, moves: Sequence[Any]) -> bool:
        asked.append(1)
        if len(asked) == 1 and not landed:
            raise StorageError("lost before")
        moved: bool = move_all(self, moves)
        if len(asked) == 1:
            raise StorageError("lost after")
        return moved

    monkeypatch.setattr(kind, "move_all", lost)


def test_where_nobody_can_look_the_state_is_unknown_and_nothing_goes(
    catalog: TableCatalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def down(*_: Any) -> bool:
        raise StorageError("down")

    tx = catalog.transaction()
    tx.load_table("db.a").append(rows(1))
    tx.load_table("db.b").append(rows(2))
    written = files(tmp_path)
    for kind in (MemoryCatalog, SqlCatalog):
        monkeypatch.setattr(kind, "move_all", down)
    with pytest.raises(CommitStateUnknownException):
        tx.commit_transaction()
    assert written <= files(tmp_path)


def test_an_interrupt_after_the_hand_over_removes_nothing(
    catalog: TableCatalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for kind in (MemoryCatalog, SqlCatalog):
        _interrupt_after(kind, monkeypatch)
    with pytest.raises(CommitStateUnknownException):
        append_to_both(catalog)
    assert (ids(catalog, "db.a"), ids(catalog, "db.b")) == ([1], [2])


def _interrupt_after(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    move_all = kind.move_all

    def moved(self: Any, moves: Sequence[Any]) -> bool:
        move_all(self, moves)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "move_all", moved)


CHANGES: dict[str, Callable[[Any], object]] = {
    "append": lambda table: table.append(rows(9)),
    "overwrite": lambda table: table.overwrite(rows(9)),
    "delete": lambda table: table.delete("id = 1"),
    "upsert": lambda table: table.upsert(rows(9), keys=["id"]),
    "properties": lambda table: table.set_properties({"a": "1"}),
    "schema": lambda table: table.update_schema().add_column("x", "int").commit(),
    "branch": lambda table: table.manage_snapshots().create_branch(1, "x").commit(),
}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_after_the_end_is_refused_and_writes_nothing(
    tmp_path: Path, change: str, fails: bool
) -> None:
    made = ice.load_catalog(uuid.uuid4().hex, type="memory", warehouse=str(tmp_path))
    made.create_table("db.a", "id bigint")
    part: Any = None
    with suppress(ZeroDivisionError), made.transaction() as tx:
        part = tx.load_table("db.a")
        part.append(rows(1))
        if fails:
            1 / 0  # noqa: B018
    before = files(tmp_path)
    with pytest.raises(InvalidInputError, match="has ended"):
        CHANGES[change](part)
    assert files(tmp_path) == before
    assert "ended" in repr(part)


def test_a_catalogs_transaction_goes_on_after_its_end(catalog: TableCatalog) -> None:
    tx = catalog.transaction()
    for number in (1, 2):
        with tx:
            tx.load_table("db.a").append(rows(number))
    assert ids(catalog, "db.a") == [1, 2]


def test_one_table_by_two_spellings_is_refused(
    catalog: TableCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = catalog._catalog
    load = type(inner).load
    monkeypatch.setattr(type(inner), "load", lambda self, name: load(self, name.lower()))
    tx = ice.transaction(catalog)
    tx.load_table("db.A").append(rows(1))
    with pytest.raises(InvalidInputError, match=r"DB\.a is db\.A, which is part"):
        tx.load_table("DB.a")
