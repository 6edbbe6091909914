"""Random sequences of all verbs on version 3: row ids go the way that they go in a Java twin.

Ids themselves differ, since both engines use them up as they like. So the lives of rows are
compared: what a row id stood for after each step, and in which step it was said to be updated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spec.reserved import LINEAGE_NAMES
from tests.oracle.java_api import location
from tests.oracle.test_verb_sequences import (
    EXAMPLES,
    SEED,
    VIEW,
    Case,
    Step,
    Twins,
    sequences,
)

CASES = [
    Case("copy-on-write", "file", ("g",), on_spark=True, format_version="3"),
    Case("merge-on-read", "file", (), on_spark=True, format_version="3"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_have_the_lives_that_they_have_in_a_java_twin(
    java: SparkSession, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.on_spark:
        monkeypatch.setattr("iceberg_spark.engines.delete_change.IN_PROCESS_FILES", 0)

    @seed(SEED + CASES.index(case))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences)
    def check(steps: list[tuple[Step, bool]]) -> None:
        LineageTwins(java, case).go(steps)

    check()


class LineageTwins(Twins):
    """Twins whose rows are followed by their ids, besides."""

    def __init__(self, java: SparkSession, case: Case) -> None:
        super().__init__(java, case)
        self.lives = tuple(Lives() for _ in self.names)

    def compare(self, at: int) -> None:  # noqa: ARG002 (each step is read by all readers)
        expected = VIEW.shown(self.rows)
        for name, lives in zip(self.names, self.lives, strict=True):
            table = ice.load_table(location(self.java, name))
            found = table.scan(metadata_columns=LINEAGE_NAMES).to_arrow()
            reader = self.java.read.format("iceberg").load(location(self.java, name))
            javas = reader.select("*", *LINEAGE_NAMES).toArrow()
            assert VIEW.read(found) == expected, name
            assert known(found) == known(javas), f"{name}: Java reads other rows, or row ids"
            assert table.maintenance.check().is_sound, str(table.maintenance.check())
            lives.add(known(found), table.metadata.last_sequence_number)
        assert self.lives[0].every() == self.lives[1].every()


def known(found: pa.Table) -> dict[int, tuple[str, int]]:
    """Each row id's values, and the number of its last update."""
    columns = []
    for kind in sorted(VIEW.columns):
        values = found[VIEW.columns[kind][1]].to_pylist()
        columns.append([tuple(v.values()) if isinstance(v, dict) else v for v in values])
    rows = [repr(list(row)) for row in zip(*columns, strict=True)] if len(found) else []
    row_ids, numbers = (found[name].to_pylist() for name in LINEAGE_NAMES)
    assert len(set(row_ids)) == len(row_ids)
    return dict(zip(row_ids, zip(rows, numbers, strict=True), strict=True))


class Lives:
    """What row ids stood for over the steps of a sequence."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.lives: dict[int, list[tuple[Any, ...]]] = defaultdict(list)

    def add(self, rows: dict[int, tuple[str, int]], last_sequence_number: int) -> None:
        """Add a step; numbers of updates become those of steps, of which one may be two commits."""
        self.steps.append(last_sequence_number)
        for row_id, (values, number) in rows.items():
            updated = next(at for at, last in enumerate(self.steps) if number <= last)
            self.lives[row_id].append((len(self.steps), values, updated))

    def every(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(life) for life in self.lives.values())
