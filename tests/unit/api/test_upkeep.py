"""What a table needs, done at once or by itself after a write."""

import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import (
    CommitStateUnknownException,
    StorageError,
    ValidationException,
)
from iceberg_spark.maintenance import auto_compact, upkeep_plan
from iceberg_spark.maintenance.limits import UPKEEP
from tests.unit.api.tables import ids, make, new_location, rows

AUTO = {"maintenance.auto-compact.enabled": "true", "maintenance.auto-compact.min-files": "5"}
UNMERGED = {"commit.manifest-merge.enabled": "false"}


def actions(table: Table) -> list[str]:
    return [item.action for item in table.maintenance.plan()]


def ruined(folder: Path) -> Table:
    """Many small files, deletes of both kinds, dangling ones, manifests, snapshots, a stray."""
    table = make(
        folder,
        **UNMERGED,
        **{"write.delete.mode": "merge-on-read", "history.expire.max-snapshot-age-ms": "1"},
    )
    for number in range(12):
        table.upsert(rows(id=[number, 100], k=["a", str(number)]), ["id"])
    for number in range(6):
        table.delete(f"id = {number}")
    (folder / "data" / "stray.parquet").write_bytes(b"x")
    then = time.time() - 7 * 24 * 3600
    os.utime(folder / "data" / "stray.parquet", (then, then))
    return table


def test_a_healthy_table_needs_nothing(tmp_path: Path) -> None:
    assert make(tmp_path / "empty").maintenance.plan() == ()
    table = make(tmp_path / "t", partition_by=["k"])
    table.append(rows(id=[1, 2], k=["a", "b"]))
    table.append(rows(id=[3], k=["a"]))
    assert table.maintenance.plan() == ()
    assert table.maintenance.run() == {}


def test_a_ruined_table_is_told_what_it_needs_and_is_healthy_after(tmp_path: Path) -> None:
    table = ruined(tmp_path)
    said = ids(table)
    plan = table.maintenance.plan()
    assert [item.action for item in plan][:2] == ["expire_snapshots", "rewrite_data_files"]
    assert {"convert_equality_deletes", "remove_orphan_files"} <= {item.action for item in plan}
    assert all(item.reason and item.requests > 0 and item.bytes >= 0 for item in plan)
    assert all(re.search(r"[0-9]", item.gain) for item in plan)
    assert str(plan[0]).startswith("expire_snapshots: ")
    before = table.metadata_location
    assert table.maintenance.run(dry_run=True) == {item.action: item for item in plan}
    assert ice.load_table(str(tmp_path)).metadata_location == before
    results = table.maintenance.run()
    assert {"expire_snapshots", "rewrite_data_files", "remove_orphan_files"} <= results.keys()
    assert ids(ice.load_table(str(tmp_path))) == said
    assert not (tmp_path / "data" / "stray.parquet").exists()
    again = [item for item in table.maintenance.plan() if item.action != "expire_snapshots"]
    assert not again


def test_manifests_are_rewritten_where_half_would_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make(partition_by=["k"], **UNMERGED)
    for number in range(4):
        table.append(rows(id=[number], k=[str(number)]))
    assert "rewrite_manifests" not in actions(table)
    for number in range(4, 32):
        table.append(rows(id=[number], k=[str(number)]))
    assert "rewrite_manifests" in actions(table)
    assert table.maintenance.run()["rewrite_manifests"].added_manifests_count == 1  # type: ignore[attr-defined]
    assert "rewrite_manifests" not in actions(table)


def test_bloom_filters_are_proposed_for_keys_of_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = replace(UPKEEP, keyed_files=3, row_changes=2)
    monkeypatch.setattr(upkeep_plan, "UPKEEP", limits)
    table = make(schema="id bigint NOT NULL, k string")
    for number in range(4):
        table.append(rows(id=[number, number + 4], k=["a", "b"]))
    table.delete("id = 0")
    with table.update_schema() as update:
        update.set_identifier_fields("id")
    assert "update_properties" not in actions(table)
    table.delete("id = 1")
    (item,) = [item for item in table.maintenance.plan() if item.action == "update_properties"]
    assert item.options == {"write.parquet.bloom-filter-enabled.column.id": "true"}
    assert item.reason.startswith("2 snapshots changed rows of 4 files by key")
    assert "update_properties" not in table.maintenance.run()
    table.update_properties().set(dict(item.options)).commit()  # type: ignore[call-overload]
    assert "update_properties" not in actions(table)


@pytest.mark.parametrize(
    ("kind", "created"),
    [
        ("bigint", {"sort_order": ["id"]}),
        ("bigint", {"partition_by": ["bucket(2, id)"]}),
        ("binary", {}),
        ("bigint", {"properties": {"write.format.default": "orc"}}),
    ],
)
def test_no_filters_are_proposed_where_they_do_not_help(
    monkeypatch: pytest.MonkeyPatch, kind: str, created: dict[str, Any]
) -> None:
    monkeypatch.setattr(upkeep_plan, "UPKEEP", replace(UPKEEP, keyed_files=0, row_changes=0))
    table = ice.create_table(new_location(), f"id {kind} NOT NULL, k string", **created)
    with table.update_schema() as update:
        update.set_identifier_fields("id")
    assert "update_properties" not in actions(table)


def test_folders_of_large_tables_are_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ruined(tmp_path)
    assert "remove_orphan_files" in actions(table)
    limits = upkeep_plan.UPKEEP
    monkeypatch.setattr(upkeep_plan, "UPKEEP", type(limits)(listed_files=1))
    assert "remove_orphan_files" not in actions(table)


def test_a_store_that_fails_is_told_and_orphans_that_are_in_doubt_are_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    table.append(rows(id=[1], k=["a"]))

    def broken(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(upkeep_plan, "remove_orphan_files", broken)
    error: Exception = ValidationException("a copy")
    assert actions(table) == []
    error = StorageError("silent")
    with pytest.raises(StorageError, match="silent"):
        table.maintenance.plan()


def data_file_count(table: Table) -> int:
    return len(ice.load_table(table.location()).inspect.data_files())


def test_small_files_are_compacted_after_a_write_where_the_table_asks_for_it() -> None:
    table, plain = make(**AUTO), make()
    for number in range(4):
        for each in (table, plain):
            each.append(rows(id=[number], k=["a"]))
    assert data_file_count(table) == 4
    for each in (table, plain):
        each.append(rows(id=[4], k=["a"]))
    assert (data_file_count(table), data_file_count(plain)) == (1, 5)
    assert ids(ice.load_table(table.location())) == [0, 1, 2, 3, 4]
    assert ids(table) == [0, 1, 2, 3, 4]
    table.append(rows(id=[5], k=["a"]))
    assert data_file_count(table) == 2


def test_a_transaction_is_a_write(tmp_path: Path) -> None:
    table = make(tmp_path, **AUTO, **{"write.delete.mode": "merge-on-read"})
    for number in range(4):
        table.append(rows(id=[number], k=["a"]))
    with table.transaction() as tx:
        tx.append(rows(id=[4, 5], k=["a", "a"]))
        tx.delete("id = 5")
    assert data_file_count(table) == 1
    assert ids(ice.load_table(table.location())) == [0, 1, 2, 3, 4]


def test_a_pass_takes_no_more_bytes_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(partition_by=["k"], **AUTO)
    for number in range(4):
        table.append(rows(id=[number, number], k=["a", "b"]))
    size = sum(table.inspect.data_files()["file_size_in_bytes"].to_pylist())
    monkeypatch.setattr(auto_compact, "UPKEEP", replace(UPKEEP, auto_bytes=size))
    table.append(rows(id=[4, 4], k=["a", "b"]))
    assert data_file_count(table) == 1 + 5


def test_a_failed_pass_does_not_fail_the_write_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = make(**AUTO)

    def broken(*_: Any) -> None:
        raise StorageError("broken")

    monkeypatch.setattr(auto_compact, "small_pass", broken)
    for number in range(7):
        table.append(rows(id=[number], k=["a"]))
    assert ids(ice.load_table(table.location())) == list(range(7))
    assert "StorageError: broken" in caplog.text


def test_an_interrupt_of_a_pass_says_that_the_write_has_landed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make(**(AUTO | {"maintenance.auto-compact.min-files": "1"}))

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(auto_compact, "small_pass", interrupted)
    with pytest.raises(CommitStateUnknownException, match="has landed"):
        table.append(rows(id=[1], k=["a"]))
    assert ids(ice.load_table(table.location())) == [1]


def test_changes_of_no_file_and_of_other_branches_start_no_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make(**(AUTO | {"maintenance.auto-compact.min-files": "1"}))
    table.append(rows(id=[1], k=["a"]))
    table.manage_snapshots().create_branch(None, "b").commit()
    calls: list[Any] = []
    monkeypatch.setattr(auto_compact, "small_pass", lambda *given: calls.append(given))
    table.update_properties().set({"owner": "me"}).commit()
    table.delete("id = 99")
    table.append(rows(id=[2], k=["a"]), branch="b")
    assert not calls
