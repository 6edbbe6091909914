"""Random evolution, writes and time travel: every snapshot has the rows that a model says."""

import random
import uuid
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.spec.schema import Schema
from tests import evolution_steps as steps
from tests.evolution_steps import KEY, START, Row
from tests.oracle.evolving import ours


class Life:
    """A table and its model, changed step by step."""

    def __init__(self, pick: random.Random, version: int) -> None:
        self.pick = pick
        self.path = f"memory://evolution/{uuid.uuid4().hex}"
        mode = pick.choice(["copy-on-write", "merge-on-read"])
        properties = {"format-version": str(version), "write.delete.mode": mode}
        self.table = ice.create_table(self.path, START, properties=properties)
        self.version = version
        self.rows: list[Row] = []
        self.next_id = 0
        self.past: list[tuple[int, Schema, list[Row]]] = []

    def step(self) -> None:
        words = ["columns", "columns", "fields", "order", "append", "append", "overwrite"]
        word = self.pick.choice([*words, "delete"] if self.version > 1 else words)
        getattr(self, f"_{word}")()
        self.table = ice.load_table(self.path)

    def _columns(self) -> None:
        self._changed(steps.schema_update(self.pick, self.table.metadata))

    def _fields(self) -> None:
        self._changed(steps.spec_update(self.pick, self.table.metadata))

    def _order(self) -> None:
        self._changed(steps.sort_update(self.pick, self.table.metadata))

    def _changed(self, update: steps.Update) -> None:
        before = self.table.metadata
        if ours(self.path, update) is not None:
            assert ice.load_table(self.path).metadata == before, f"refused, but changed: {update}"

    def _append(self) -> None:
        new = self._new_rows()
        self.table.append(steps.arrow(self.table.schema(), new))
        self._now([*self.rows, *new])

    def _overwrite(self) -> None:
        new = self._new_rows()
        least = self.pick.randint(0, self.next_id)
        rows = steps.arrow(self.table.schema(), new)
        self.table.overwrite(rows, f"{self._key()} >= {least}")
        self._now([*(row for row in self.rows if row[KEY] < least), *new])

    def _delete(self) -> None:
        least = self.pick.randint(0, self.next_id)
        self.table.delete(f"{self._key()} >= {least}")
        kept = [row for row in self.rows if row[KEY] < least]
        if len(kept) < len(self.rows):
            self._now(kept)

    def _new_rows(self) -> list[Row]:
        count = self.pick.randint(1, 5)
        made = steps.rows(self.pick, self.table.schema(), self.next_id, count)
        self.next_id += count
        return made

    def _key(self) -> str:
        return self.table.schema().find_field(KEY).name

    def _now(self, rows: list[Row]) -> None:
        self.rows = rows
        table = ice.load_table(self.path)
        head = table.current_snapshot()
        assert head is not None
        self.past.append((head.snapshot_id, table.schema(), rows))

    def check(self) -> None:
        """Now, a filter, and every snapshot that ever was."""
        table = self.table
        columns = table.schema()
        assert found(table, columns) == expected(columns, self.rows)
        text, field_id, value = steps.predicate(self.pick, columns)
        kept = [row for row in self.rows if row.get(field_id) == value]
        assert found(table, columns, row_filter=text) == expected(columns, kept), text
        for snapshot_id, then, rows in self.past:
            assert found(table, then, snapshot_id=snapshot_id) == expected(then, rows)


def found(table: Table, columns: Schema, **scan: Any) -> list[dict[str, Any]]:
    return ordered(columns, table.scan(**scan).to_arrow().to_pylist())


def expected(columns: Schema, rows: list[Row]) -> list[dict[str, Any]]:
    return ordered(columns, [steps.shown(columns, row) for row in rows])


def ordered(columns: Schema, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    key = columns.find_field(KEY).name
    return sorted(rows, key=lambda row: row[key])  # type: ignore[no-any-return]


@settings(max_examples=15, deadline=None)
@given(
    pick=st.randoms(use_true_random=False),
    count=st.integers(5, 16),
    version=st.sampled_from([1, 2]),
)
def test_every_snapshot_of_a_table_that_changes_has_its_rows(
    pick: random.Random, count: int, version: int
) -> None:
    life = Life(pick, version)
    for _ in range(count):
        life.step()
    life.check()
