"""Random sequences of verbs on tables of version 3: a row keeps its id, and nothing else has it.

LINEAGE_SEEDS=300 tries so many.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pyarrow as pa
import pytest

from iceberg_spark import Table
from iceberg_spark.spec.reserved import LINEAGE_NAMES
from tests.unit.api.tables import make

FORMATS = ("parquet", "orc", "avro")
VERBS = ("append", "append", "delete", "delete", "overwrite", "upsert", "branch", "rewrite")
KEYS = 12
SEEDS = int(os.environ.get("LINEAGE_SEEDS", "12"))


@dataclass(frozen=True)
class Known:
    """A row of the model: which life it is in, and the step of its last update."""

    key: int
    life: int
    step: int


class Model:
    """A table, the rows that it should hold, and the row id of each life."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        mode = chance.choice(["copy-on-write", "merge-on-read"])
        layout: tuple[str, ...] = chance.choice([(), ("k",), ("bucket(3, id)",)])
        self.upgrade_at = chance.choice([0, 0, 2, 4])
        self.table: Table = make(
            schema="id bigint, k int",
            partition_by=layout,
            format_version="2" if self.upgrade_at else "3",
            **{
                "write.format.default": chance.choice(FORMATS),
                "write.delete.mode": mode,
                "write.delete.granularity": chance.choice(["file", "partition"]),
                "commit.manifest.min-count-to-merge": chance.choice(["2", "100"]),
            },
        )
        self.layout = layout
        self.rows: list[Known] = []
        self.lives = 0
        self.ids: dict[int, int] = {}
        self.sequences: list[int] = []

    def arrow(self, keys: list[int]) -> pa.Table:
        return pa.table({"id": keys, "k": pa.array([key % 3 for key in keys], pa.int32())})

    def new(self, keys: list[int], at: int) -> list[Known]:
        first, self.lives = self.lives, self.lives + len(keys)
        return [Known(key, first + place, at) for place, key in enumerate(keys)]

    def step(self, at: int) -> None:
        if self.upgrade_at == at and at:
            self.table.update_properties().set({"format-version": "3"}).commit()
        keys = sorted(self.chance.sample(range(KEYS), self.chance.randint(1, 4)))
        listed = ", ".join(map(str, keys))
        match self.chance.choice(VERBS):
            case "append":
                self.table.append(self.arrow(keys))
                self.rows += self.new(keys, at)
            case "delete":
                self.table.delete(f"id in ({listed})")
                self.rows = [row for row in self.rows if row.key not in keys]
            case "overwrite":
                self.table.overwrite(self.arrow(keys), f"id in ({listed})")
                self.rows = [row for row in self.rows if row.key not in keys] + self.new(keys, at)
            case "upsert":
                by = ["id", "k"] if "k" in self.layout else ["id"]
                self.table.upsert(self.arrow(keys), keys=by)
                self.rows = [row for row in self.rows if row.key not in keys] + self.new(keys, at)
            case "rewrite" if self.table.metadata.current_snapshot_id is not None:
                self.table.maintenance.rewrite_manifests()
            case _:
                self.on_a_branch(keys, at)

    def on_a_branch(self, keys: list[int], at: int) -> None:
        """A branch uses row ids up beside main."""
        head = self.table.metadata.current_snapshot_id
        if head is not None:
            self.table.manage_snapshots().create_branch(head, f"b{at}").commit()
            self.table.append(self.arrow(keys), branch=f"b{at}")

    def check(self) -> None:
        self.table.refresh()
        self.sequences.append(self.table.metadata.last_sequence_number)
        if not self.table.metadata.rules.has_row_lineage:
            return
        found = self.table.scan(metadata_columns=LINEAGE_NAMES).to_arrow()
        columns = (found[name].to_pylist() for name in ("id", *LINEAGE_NAMES))
        rows = list(zip(*columns, strict=True))
        assert sorted(key for key, _, _ in rows) == sorted(row.key for row in self.rows)
        report = self.table.maintenance.check()
        assert report.is_sound, str(report)
        head = self.table.current_snapshot()
        if head is None or head.first_row_id is None:
            assert all(row[1:] == (None, None) for row in rows)
            return
        self.match(rows)

    def match(self, rows: list[tuple[int, int, int]]) -> None:
        """Bring the table's rows and the model's together by the ids that lives have."""
        by_id = {row_id: (key, self.step_of(number)) for key, row_id, number in rows}
        assert len(by_id) == len(rows)
        if not self.ids:  # rows that the first commit after an upgrade wrote anew count as updated
            self.rows = self.as_read(by_id)
        fresh: list[tuple[int, int]] = []
        for row in self.rows:
            if row.life in self.ids:
                assert by_id.pop(self.ids[row.life]) == (row.key, row.step)
            else:
                fresh.append((row.key, row.step))
        assert sorted(fresh) == sorted(by_id.values())
        used = set(self.ids.values())
        for row in self.rows:
            if row.life not in self.ids:
                mine = next(i for i, known in by_id.items() if known == (row.key, row.step))
                del by_id[mine]
                assert mine not in used
                self.ids[row.life] = mine

    def as_read(self, by_id: dict[int, tuple[int, int]]) -> list[Known]:
        """Return the model's rows with the steps that the table says they were updated in."""
        steps: dict[int, list[int]] = {}
        for key, step in by_id.values():
            steps.setdefault(key, []).append(step)
        return [Known(row.key, row.life, steps[row.key].pop()) for row in self.rows]

    def step_of(self, number: int) -> int:
        return next(at for at, last in enumerate(self.sequences) if number <= last)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_rows_keep_their_ids_over_any_verbs(seed: int) -> None:
    model = Model(random.Random(seed))
    for at in range(9):
        model.step(at)
        model.check()
