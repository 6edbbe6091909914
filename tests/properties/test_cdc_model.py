"""Changes by key in batches of any order, with repeats: the table is what the set of them says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import iceberg_spark as ice
from iceberg_spark.row_level.cdc_ledger import CDC
from tests.cdc_model import Change, current, frame, history

KEYS = 4
VALUES = st.one_of(
    st.none(),
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1.0, float("inf"), None])),
)
CHANGES = st.dictionaries(
    st.tuples(st.integers(0, KEYS - 1), st.integers(0, 9)), VALUES, min_size=1, max_size=14
)


class Kind(NamedTuple):
    """A table that changes are applied to."""

    schema: str
    sequence: str
    scd_type: int
    partition_by: tuple[str, ...]
    mode: str
    version: str


NAMED = "id bigint, name string, price double, seq bigint"
PLAIN = "id bigint, name string, price double"
KINDS = [
    Kind(NAMED, "seq", 1, (), "copy-on-write", "2"),
    Kind(NAMED, "seq", 1, ("name",), "merge-on-read", "3"),
    Kind(PLAIN, "__seq", 1, ("bucket(2, id)",), "merge-on-read", "2"),
    Kind(PLAIN, "__seq", 1, (), "copy-on-write", "3"),
    Kind(PLAIN, "__seq", 2, ("name",), "copy-on-write", "2"),
    Kind(PLAIN, "__seq", 2, (), "merge-on-read", "3"),
]


class Applied:
    """A table and all that was applied to it; each example has keys of its own."""

    def __init__(self, table: ice.Table, kind: Kind) -> None:
        self.table = table
        self.kind = kind
        self.seen: set[Change] = set()
        self.examples = 0

    def apply(self, batch: list[Change]) -> None:
        """Apply a batch."""
        self.seen.update(batch)
        self.table.apply_changes(
            frame(batch, self.kind.sequence),
            keys=["id"],
            sequence_by=self.kind.sequence,
            apply_as_deletes="op = 'D'",
            stored_as_scd_type=self.kind.scd_type,
        )

    def check(self) -> None:
        """Compare the table with the set of changes."""
        rows = self.table.scan().to_arrow().to_pylist()
        found = Counter(tuple(row.values()) for row in rows)
        if self.kind.scd_type == 2:
            assert found == Counter(history(self.seen))
        elif self.kind.sequence == "seq":
            assert found == Counter(current(self.seen).values())
        else:
            assert found == Counter(row[:3] for row in current(self.seen).values())


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind.scd_type}{kind.sequence}v{kind.version}")
def applied(request: pytest.FixtureRequest, tmp_path: Path) -> Applied:
    kind: Kind = request.param
    table = ice.create_table(
        str(tmp_path / "t"),
        kind.schema,
        partition_by=list(kind.partition_by),
        properties={"write.merge.mode": kind.mode, "format-version": kind.version},
    )
    return Applied(table, kind)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_table_is_what_the_set_of_changes_says(applied: Applied, data: Any) -> None:
    base = applied.examples * KEYS
    applied.examples += 1
    drawn = data.draw(CHANGES)
    changes = [Change(base + key, at, value) for (key, at), value in drawn.items()]
    order = data.draw(st.permutations(changes))
    repeats = data.draw(st.lists(st.sampled_from(changes), max_size=4))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=3)))
    for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True):
        applied.apply([*order[start:end], *repeats])
        applied.check()


def test_the_ledger_s_files_stay_few(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), PLAIN)
    applied = Applied(table, KINDS[3])
    for at in range(2 * CDC.ledger_files + 2):
        applied.apply([Change(at % 5, at, None if at % 2 else ("a", None)), Change(9, at, None)])
    applied.check()
    head = table.refs()["__cdc_main"].snapshot_id
    assert len(table.scan(snapshot_id=head).plan_files()) <= CDC.ledger_files + 1
