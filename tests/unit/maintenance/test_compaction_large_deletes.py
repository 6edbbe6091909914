"""Compactions with more deleted keys than memory may hold."""

from pathlib import Path

import pytest

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.io import spill_folder
from iceberg_spark.read import task_reader
from tests.unit.api.tables import make, rows


@pytest.mark.parametrize("keys", [["id"], ["k"], ["id", "k"]])
def test_keys_beyond_memory_go_to_disk_and_delete_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setattr(spill_folder.tempfile, "tempdir", str(spilled))
    monkeypatch.setattr(task_reader, "process_cache", lambda: BoundedCache(16_000))
    made: list[str] = []
    next_path = spill_folder.SpillFolder.next

    def counted(folder: spill_folder.SpillFolder, suffix: str) -> str:
        made.append(suffix)
        return next_path(folder, suffix)

    monkeypatch.setattr(spill_folder.SpillFolder, "next", counted)
    table = make()
    every = list(range(6_000))
    table.append(rows(id=every, k=[f"k{one}" for one in every]))
    for first in (0, 1, 2):  # together the even numbers below 4,000
        gone = every[first * 1_000 : first * 1_000 + 2_000 : 2]
        doomed = rows(id=gone, k=[f"k{one}" for one in gone])
        table.upsert(doomed.append_column("_op", [["D"] * len(gone)]), keys)
    left = sorted(table.scan().to_arrow()["id"].to_pylist())
    made.clear()
    done = table.maintenance.rewrite_data_files(options={"rewrite-all": True})
    assert made
    assert done.rewritten_data_files_count == 1
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == left
    assert left == [one for one in every if one % 2 or one >= 4_000]
    assert list(spilled.iterdir()) == []
