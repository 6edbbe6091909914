"""Clean-up never takes an error's place: what the store keeps is left to orphan removal."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from iceberg_spark.engines import apply_cdc
from iceberg_spark.errors import StorageError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.maintenance import compaction, table_path
from iceberg_spark.row_level import in_process
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.uncommitted_files import (
    remove_aborted,
    remove_other_attempts,
    remove_written,
)
from tests.unit.api.tables import make, rows
from tests.unit.maintenance.test_compaction import small_files
from tests.unit.write.test_locations import context

SPLIT = {"target-file-size-bytes": 2_000, "rewrite-all": True}


def keep_all(patch: pytest.MonkeyPatch) -> None:
    """From now on no store lists or deletes anything."""

    def refused(*_: Any) -> Any:
        raise StorageError("kept")

    for name in ("delete", "list"):
        patch.setattr(FsspecIO, name, refused)


@pytest.mark.parametrize(
    "clean_up",
    [
        lambda io, _: remove_written(io, ["/t/data/a"]),
        lambda io, write: remove_aborted(io, write, outlive=False),
        lambda io, write: remove_other_attempts(io, write, ["/t/data/a"], outlive=False),
    ],
    ids=["written", "aborted", "other attempts"],
)
def test_what_the_store_keeps_is_no_error(
    clean_up: Callable[[FsspecIO, WriteContext], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_all(monkeypatch)
    clean_up(FsspecIO({}), context("/t"))


def interrupted_at(module: Any, name: str, turn: int, patch: pytest.MonkeyPatch) -> None:
    real, calls = getattr(module, name), count(1)

    def stopped(*given: Any, **named: Any) -> Any:
        if next(calls) == turn:
            raise KeyboardInterrupt
        return real(*given, **named)

    patch.setattr(module, name, stopped)


@pytest.mark.parametrize("order", [None, "id desc", "zorder(id, k)"])
def test_an_interrupted_compaction_is_interrupted_whatever_can_be_cleared_up(
    order: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = small_files(4, ["k"] if order is None else [])
    keep_all(monkeypatch)
    interrupted_at(compaction, "write_data_files", 2, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        table.maintenance.rewrite_data_files(sort_order=order, options=SPLIT)


def test_an_interrupted_transaction_is_interrupted_whatever_can_be_cleared_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make()

    def stopped() -> None:
        with table.transaction() as tx:
            tx.append(rows(id=[1, 2], k=["a", "b"]))
            keep_all(monkeypatch)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()


def test_an_interrupted_overwrite_is_interrupted_whatever_can_be_cleared_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make()
    table.append(rows(id=[1, 2], k=["a", "b"]))
    keep_all(monkeypatch)
    interrupted_at(in_process, "write_sorted_files", 1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        table.overwrite(rows(id=[3], k=["c"]), "id = 1")


def test_interrupted_changes_are_interrupted_whatever_can_be_cleared_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = make()
    keep_all(monkeypatch)
    interrupted_at(apply_cdc, "apply_here", 1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        table.apply_changes(rows(id=[1], k=["a"], n=[1]), keys=["id"], sequence_by="n")


def test_an_interrupted_copy_is_interrupted_whatever_can_be_cleared_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path)
    table.append(rows(id=[1], k=["a"]))
    keep_all(monkeypatch)
    interrupted_at(table_path, "write_manifest_list", 1, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        table.maintenance.rewrite_table_path(str(tmp_path), "/t")
