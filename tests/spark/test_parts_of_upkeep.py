"""A part of the upkeep of deletes that fails on Spark leaves what others have committed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.spark.procedures import rewritten_deletes


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_part_that_fails_removes_no_files_of_a_committed_part(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    error: type[BaseException],
) -> None:
    properties = {"write.delete.mode": "merge-on-read"}
    table = ice.create_table(
        str(tmp_path), "id bigint, k string", partition_by=["k"], properties=properties
    )
    table.append(pa.table({"id": list(range(40)), "k": ["a", "b"] * 20}))
    for number in range(12):
        table.delete(f"id = {number}")
    table.update_properties().set({"format-version": version}).commit()
    run: Callable[..., Any] = rewritten_deletes.job_results
    calls = []

    def failing(*given: Any, **named: Any) -> Any:
        calls.append(given)
        done = run(*given, **named)
        if len(calls) == 2:
            raise error("the executor is lost")
        return done

    monkeypatch.setattr(rewritten_deletes, "job_results", failing)
    options = {
        "rewrite-all": True, "partial-progress.enabled": True, "partial-progress.max-commits": 2
    }  # fmt: skip
    with pytest.raises(error):
        table.maintenance.rewrite_position_delete_files(options, spark=spark)
    assert len(calls) == 2
    found = ice.load_table(str(tmp_path)).scan().to_arrow()["id"].to_pylist()
    assert sorted(found) == list(range(12, 40))
