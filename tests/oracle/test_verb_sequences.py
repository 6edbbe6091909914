"""Random sequences of all verbs: the model, our table and a Java twin hold the same rows.

In a step the two engines do the same, each to a table of its own: mostly we to ours and Java to
the twin, now and then the other way round. After it each engine reads the other's table, Spark's
own reader one of the two.
VERB_EXAMPLES=20 runs so many sequences of each case, VERB_SEED=7 draws others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import InvalidInputError
from tests.merge_model import (
    Clause,
    MatchedTwiceError,
    Merge,
    Update,
    merged,
    merges,
    updated,
    updates,
)
from tests.oracle.java_api import frame, identifier, location, read
from tests.oracle.product import read_arrow, read_frame
from tests.verb_expressions import predicates_of
from tests.verb_model import DELETES, Append, Change, Delete, Overwrite, Rows, Upsert, View
from tests.verb_model import after as after_change
from tests.verb_model import run as run_change
from tests.verb_strategies import row, rows

COLUMNS = ("id", "g", "v", "d", "s")
VIEW = View({kind: (kind, kind) for kind in COLUMNS})
SCHEMA = "id bigint, g string, v int, d date, s struct<k int, t string>"
TYPES = "id bigint, g string, v int, d date, s struct<k: int, t: string>"
EXAMPLES = int(os.environ.get("VERB_EXAMPLES", "1"))
SEED = int(os.environ.get("VERB_SEED", "0"))
NUMBER = count()
Step = Change | Update | Merge


@dataclass(frozen=True)
class Case:
    mode: str
    granularity: str
    partition_by: tuple[str, ...]
    on_spark: bool
    file_format: str = "parquet"
    format_version: str = "2"

    def __str__(self) -> str:
        return f"{self.mode}-{'-'.join(self.partition_by) or 'unpartitioned'}"

    @property
    def properties(self) -> dict[str, str]:
        modes = {f"write.{verb}.mode": self.mode for verb in ("delete", "update", "merge")}
        return modes | {
            "write.delete.granularity": self.granularity,
            "write.format.default": self.file_format,
            "format-version": self.format_version,
        }


CASES = [
    Case("copy-on-write", "file", (), on_spark=False),
    Case("copy-on-write", "file", ("g",), on_spark=True),
    Case("merge-on-read", "file", (), on_spark=True),
    Case("merge-on-read", "partition", ("bucket(3, id)",), on_spark=True),
    Case("merge-on-read", "file", ("truncate(1, g)", "months(d)"), on_spark=False),
]

_operations = st.sampled_from(["I", "U", "D", "+U", "-U"])
_changes = st.lists(st.tuples(row, _operations), min_size=1, max_size=8)
_upserts = _changes.map(
    lambda pairs: Upsert(
        tuple(one for one, _ in pairs), tuple(op for _, op in pairs), ("id",), global_delete=True
    )
)
_wheres = predicates_of(*("id", "g", "v", "d", "s.k"))
_later = st.one_of(
    merges,
    merges,
    updates,
    st.builds(Delete, _wheres),
    _upserts,
    st.builds(Overwrite, _wheres, rows),
    st.builds(Append, rows),
)
_swapped = st.sampled_from([False, False, True])
sequences = st.tuples(
    st.lists(row, min_size=6, max_size=12).map(lambda found: Append(tuple(found))),
    st.lists(st.tuples(_later, _swapped), min_size=5, max_size=7).filter(
        lambda steps: len({type(step) for step, _ in steps}) > 3
    ),
).map(lambda parts: [(parts[0], False), *parts[1]])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_are_the_models_and_those_of_a_java_twin(
    java: SparkSession, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.on_spark:  # also where a few rows would be looked at without Spark's tasks
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
        Twins(java, case).go(steps)

    check()


class Twins:
    """The two tables and the rows that both should hold."""

    def __init__(self, java: SparkSession, case: Case) -> None:
        number = next(NUMBER)
        self.java = java
        self.names = f"verbs_{number}", f"verbs_{number}_twin"
        self.rows: Rows = []
        ice.create_table(
            location(java, self.names[0]),
            SCHEMA,
            partition_by=case.partition_by,
            properties=case.properties,
        )
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in case.properties.items())
        parts = f"PARTITIONED BY ({', '.join(case.partition_by)})" if case.partition_by else ""
        java.sql(
            f"CREATE TABLE {identifier(self.names[1])} ({TYPES}) USING iceberg {parts} "
            f"TBLPROPERTIES ({listed})"
        )

    def go(self, steps: list[tuple[Step, bool]]) -> None:
        for at, (step, swapped) in enumerate(steps):
            note(f"{at}: {'(swapped) ' if swapped else ''}{step!r}")
            by_us, by_java = reversed(self.names) if swapped else self.names
            table = ice.load_table(location(self.java, by_us))
            try:
                wanted = after(step, self.rows)
            except MatchedTwiceError:
                with pytest.raises(InvalidInputError, match="more than one row of the source"):
                    self.ours(step, table)
            else:
                counts = self.ours(step, table)
                if isinstance(step, Merge):
                    _, expected = merged(step, self.rows, VIEW)
                    found = counts.inserted, counts.updated, counts.deleted
                    assert found == (expected.inserted, expected.updated, expected.deleted)
                self.javas(step, identifier(by_java))
                self.rows = wanted
            self.compare(at)

    def compare(self, at: int) -> None:
        expected = VIEW.shown(self.rows)
        for name, whose in zip(self.names, ("our table", "Java's table"), strict=True):
            path = location(self.java, name)
            assert VIEW.read(read_arrow(path)) == expected, f"we read {whose}"
            assert VIEW.read(read(self.java, path)) == expected, f"Java reads {whose}"
        native = read_frame(self.java, location(self.java, self.names[at % 2]), None)
        assert VIEW.read(native) == expected, f"natively, {self.names[at % 2]}"

    def arrow(self, given_rows: Any) -> pa.Table:
        return VIEW.arrow(ice.load_table(location(self.java, self.names[0])), given_rows)

    def ours(self, step: Step, table: Table) -> Any:
        match step:
            case Update():
                values = {each.column: each.sql("") for each in step.sets}
                return table.update(values, where=step.where.text(str))
            case Merge():
                merge = table.merge(self.arrow(step.rows), step.on.text)
                for clause in step.clauses:
                    merge = _add(merge, clause)
                return merge.execute()
            case _:
                return run_change(step, table, table, VIEW)

    def javas(self, step: Step, name: str) -> None:
        match step:
            case Append():
                self.insert(step.rows, name)
            case Delete():
                self.delete(step.where.text(str), name)
            case Overwrite():
                self.delete(step.where.text(str), name)
                self.insert(step.rows, name)
            case Update():
                values = ", ".join(f"{each.column} = {each.sql('')}" for each in step.sets)
                self.java.sql(f"UPDATE {name} SET {values} WHERE {step.where.text(str)}")
            case Merge():
                clauses = " ".join(clause.sql for clause in step.clauses)
                self.merge(step.rows, f"{step.on.text} {clauses}", name)
            case Upsert():
                last = {
                    each["id"]: (each, operation)
                    for each, operation in zip(step.rows, step.operations, strict=True)
                }
                keys = [each for each, _ in last.values()]
                self.merge(keys, "t.id <=> s.id WHEN MATCHED THEN DELETE", name)
                self.insert([each for each, did in last.values() if did not in DELETES], name)

    def delete(self, where: str, name: str) -> None:
        """Without `coalesce` Java drops files by their metadata and takes null for unequal."""
        self.java.sql(f"DELETE FROM {name} WHERE coalesce({where}, false)")

    def insert(self, given_rows: Any, name: str) -> None:
        if given_rows:
            frame(self.java, self.arrow(given_rows)).writeTo(name).append()

    def merge(self, given_rows: Any, rest: str, name: str) -> None:
        frame(self.java, self.arrow(given_rows)).createOrReplaceTempView("verbs_source")
        self.java.sql(f"MERGE INTO {name} t USING verbs_source s ON {rest}")


def _add(merge: Any, clause: Clause) -> Any:
    condition = clause.condition.text if clause.condition else None
    values = {each.column: each.sql("t.") for each in clause.sets}
    match clause.kind, clause.does:
        case "matched", "update":
            return merge.when_matched_update(values, condition)
        case "matched", "update all":
            return merge.when_matched_update_all(condition)
        case "matched", _:
            return merge.when_matched_delete(condition)
        case "insert", "insert":
            return merge.when_not_matched_insert(values, condition)
        case "insert", _:
            return merge.when_not_matched_insert_all(condition)
        case _, "update":
            return merge.when_not_matched_by_source_update(values, condition)
        case _:
            return merge.when_not_matched_by_source_delete(condition)


def after(step: Step, before: Rows) -> Rows:
    match step:
        case Update():
            return updated(step, before, VIEW)
        case Merge():
            return merged(step, before, VIEW)[0]
        case _:
            return after_change(step, before, VIEW)
