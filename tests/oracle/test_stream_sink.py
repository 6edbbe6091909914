"""Streams that are written beside Java's: one checkpoint for both, and Java's stream reads ours."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import java_api
from tests.spark.streams import Input, enabled, epochs, forget_last_batch, pairs, run


def by_java(java: SparkSession, given: Input, name: str, checkpoint: Path) -> None:
    writer = given.stream(java).writeStream.format("iceberg")
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    writer.toTable(name).awaitTermination()


@pytest.mark.parametrize("native", [True, False], ids=["native", "plain"])
def test_a_checkpoint_changes_hands_with_java_and_java_streams_what_ours_wrote(
    java: SparkSession, tmp_path: Path, native: bool
) -> None:
    name = f"sunk_{'native' if native else 'plain'}"
    java.sql(f"CREATE TABLE j.db.{name} (id bigint, k string) USING iceberg")
    table = ice.load_table(java_api.location(java, name))
    given, checkpoint = Input(tmp_path / "in"), tmp_path / "c"
    given.add((1, "ours"))
    given.add((2, "ours"))
    with enabled(java, native):
        run(given.stream(java), table.location(), checkpoint)
    forget_last_batch(checkpoint)  # Java does it again, and sees that it is there
    given.add((3, "java"))
    by_java(java, given, f"j.db.{name}", checkpoint)
    forget_last_batch(checkpoint)  # and the other way round
    given.add((4, "ours"))
    with enabled(java, native):
        run(given.stream(java), table.location(), checkpoint)
    assert pairs(table) == [(1, "ours"), (2, "ours"), (3, "java"), (4, "ours")]
    assert epochs(table) == ["0", "1", "2", "3"]

    read = java.readStream.format("iceberg").load(f"j.db.{name}").writeStream.format("memory")
    read = read.queryName(f"{name}_read").option("checkpointLocation", str(tmp_path / "read"))
    read.trigger(availableNow=True).start().awaitTermination()
    assert sorted(row.id for row in java.table(f"{name}_read").collect()) == [1, 2, 3, 4]
