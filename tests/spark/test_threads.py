"""One table and one session, used by many threads at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice

THREADS, ROUNDS = 16, 1
PROPERTIES = {
    "write.delete.mode": "merge-on-read",
    "write.delete.isolation-level": "snapshot",  # appends beside a delete are no conflict
    "commit.retry.num-retries": "1000",
    "commit.retry.max-wait-ms": "200",
    "commit.retry.total-timeout-ms": "600000",
}


@pytest.mark.slow
def test_frames_of_sixteen_threads_lose_nothing_and_read_whole_commits(
    spark: SparkSession, tmp_path: Path
):
    """Each thread appends its own rows, deletes one of them, and reads what it left."""
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, owner int",
        partition_by=["bucket(2, id)"],
        properties=PROPERTIES,
    )

    def work(owner: int) -> list[list[int]]:
        seen = []
        for number in range(ROUNDS):
            first = (owner * ROUNDS + number) * 10
            rows = spark.range(first, first + 10, 1, 1).selectExpr("id", f"{owner} owner")
            table.append(rows)
            table.delete(f"id = {first + 3}")
            frame = ice.load_table(str(tmp_path / "t")).scan(f"owner = {owner}").to_df(spark)
            seen.append(sorted(row.id for row in frame.select("id").collect()))
        return seen

    with ThreadPoolExecutor(THREADS) as pool:
        seen = list(pool.map(work, range(THREADS)))
    left = [i for i in range(THREADS * ROUNDS * 10) if i % 10 != 3]
    for owner, rounds in enumerate(seen):
        for number, found in enumerate(rounds):
            until = (owner * ROUNDS + number + 1) * 10
            assert found == [i for i in left if owner * ROUNDS * 10 <= i < until]
    whole = ice.load_table(str(tmp_path / "t"))
    assert sorted(whole.scan().to_arrow()["id"].to_pylist()) == left
    assert len(whole.snapshots()) == 2 * THREADS * ROUNDS
