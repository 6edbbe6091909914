"""Random evolution, writes and time travel on twins, ours and Java's, kept in step."""

import random

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spec.schema import Schema
from tests import evolution_steps as steps
from tests.evolution_steps import KEY, START
from tests.oracle.compare import assert_same_rows
from tests.oracle.evolving import definition, javas, ours, twins
from tests.oracle.java_api import frame, read

STEPS = 14


class Twins:
    """Our table, changed by us, and Java's, changed by Java."""

    def __init__(self, java: SparkSession, seed: int, version: int) -> None:
        self.java = java
        self.pick = random.Random(seed)
        self.version = version
        self.name = f"life_{seed}_v{version}"
        properties = {"format-version": str(version)}
        self.ours, self.javas = twins(java, self.name, START, properties=properties)
        self.next_id = 0

    def step(self) -> None:
        metadata = ice.load_table(self.ours).metadata
        words = ["columns", "columns", "fields", "order", "append", "append", "delete"]
        word = self.pick.choice(words)
        if word == "append":
            self._append(metadata.schema)
        elif word == "delete" and self.version > 1:
            key = metadata.schema.find_field(KEY).name
            text = f"{key} >= {self.pick.randint(0, self.next_id)}"
            ice.load_table(self.ours).delete(text)
            self.java.sql(f"DELETE FROM j.db.{self.name}_java WHERE {text}")
        else:
            make = {"columns": steps.schema_update, "fields": steps.spec_update}
            self._change(make.get(word, steps.sort_update)(self.pick, metadata))

    def _append(self, columns: Schema) -> None:
        count = self.pick.randint(1, 5)
        new = steps.rows(self.pick, columns, self.next_id, count)
        self.next_id += count
        rows = steps.arrow(columns, new)
        ice.load_table(self.ours).append(rows)
        made = frame(self.java, rows).coalesce(1)
        made.write.format("iceberg").mode("append").save(self.javas)

    def _change(self, update: steps.Update) -> None:
        mine, theirs = ours(self.ours, update), javas(self.java, self.javas, update)
        assert (mine is None) == (theirs is None), f"{update}: we {mine}, Java {theirs}"
        assert definition(self.ours) == definition(self.javas), update

    def check(self) -> None:
        """Both tables by both engines, now and at every snapshot."""
        mine, theirs = (ice.load_table(place).snapshots() for place in (self.ours, self.javas))
        assert len(mine) == len(theirs)
        expected = read(self.java, self.javas)
        assert_same_rows(expected, ice.load_table(self.ours).scan().to_arrow(), what="ours by us")
        assert_same_rows(expected, read(self.java, self.ours), what="ours by Java")
        theirs_by_us = ice.load_table(self.javas).scan().to_arrow()
        assert_same_rows(expected, theirs_by_us, what="theirs by us")
        for one, other in zip(mine, theirs, strict=True):
            then = read(self.java, self.javas, versionAsOf=str(other.snapshot_id))
            found = ice.load_table(self.ours).scan(snapshot_id=one.snapshot_id).to_arrow()
            assert_same_rows(then, found, what=f"snapshot {one.snapshot_id}")


@pytest.mark.parametrize(("seed", "version"), [(1, 2), (2, 1)])
def test_twins_stay_equal(java: SparkSession, seed: int, version: int) -> None:
    life = Twins(java, seed, version)
    for _ in range(STEPS):
        life.step()
    life.check()
