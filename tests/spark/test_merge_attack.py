"""MERGE statements drawn at random: rows are what a plain model of their words says.

`MERGE_STEPS` is how many (`make attack`), `ATTACK_SEED` draws others.
"""

import os
import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import IcebergError
from tests.merge_attack import (
    KINDS,
    MatchedTwiceError,
    Rows,
    drawn_merge,
    drawn_rows,
    literal,
    shown,
)

STEPS = int(os.environ.get("MERGE_STEPS", "2"))
SEED = int(os.environ.get("ATTACK_SEED", "3"))
SETTINGS = (
    {},
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"},
    {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.enforceReservedKeywords": "true"},
    {"spark.sql.caseSensitive": "true", "spark.sql.adaptive.enabled": "false"},
    {"spark.sql.storeAssignmentPolicy": "LEGACY"},
    {"spark.sql.storeAssignmentPolicy": "STRICT", "spark.sql.session.timeZone": "Asia/Kathmandu"},
    {"spark.sql.legacy.consecutiveStringLiterals.enabled": "true"},
    {"spark.sql.parser.escapedStringLiterals": "true"},
    {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.join.preferSortMergeJoin": "true"},
)
MODES = ("copy-on-write", "merge-on-read")
LAYOUTS = ("", "PARTITIONED BY (s)", "PARTITIONED BY (bucket(2, v), truncate(1, s))")


@contextmanager
def settings(session: Any, given: dict[str, str]) -> Iterator[None]:
    before = {name: session.conf.get(name, None) for name in given}
    _set(session, given)
    try:
        yield
    finally:
        _set(session, before)


def _set(session: Any, given: Mapping[str, str | None]) -> None:
    with warnings.catch_warnings(action="ignore"):  # over Connect of some that are deprecated
        for name, value in given.items():
            session.conf.unset(name) if value is None else session.conf.set(name, value)


@pytest.fixture
def by_turns(
    spark: Any, connect_session: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[int, str, dict[str, str]], None]]:
    """What runs a statement by `spark.sql`: on a classic session, then over Connect."""
    for session in (spark, connect_session):
        ice.enable(session)

    def run(turn: int, text: str, given: dict[str, str]) -> None:
        session = (spark, connect_session)[turn % 2]
        with monkeypatch.context() as patch:
            if session is connect_session:
                patch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
            with settings(session, given):
                session.sql(text).collect()

    yield run
    for session in (spark, connect_session):
        ice.disable(session)


FIRST = ["k", "v", "s", "p"]


@pytest.mark.slow
@pytest.mark.timeout(20_000)
def test_merges_are_what_their_words_say(
    by_turns: Callable[[int, str, dict[str, str]], None],
) -> None:
    """Rows, columns and snapshots; a merge that is refused leaves all of them."""
    draw = random.Random(SEED)
    columns, rows, table = FIRST, Rows(), ""
    for step in range(STEPS):
        if step % 25 == 0:
            columns, rows, table = FIRST, [], f"st.d.m{step}"
            made = ", ".join(f"{name} {KINDS[name]}" for name in FIRST)
            layout, version = draw.choice(LAYOUTS), draw.choice((2, 3))
            by_turns(
                step,
                f"CREATE TABLE {table} ({made}) {layout} TBLPROPERTIES ('format-version' = "
                f"'{version}', 'write.merge.mode' = '{draw.choice(MODES)}')",
                {},
            )
        if len(rows) < 4 or draw.random() < 0.3:
            more = drawn_rows(draw, columns, 8)
            values = ", ".join(f"({', '.join(map(literal, row.values()))})" for row in more)
            if more:
                by_turns(step, f"INSERT INTO {table} VALUES {values}", {})
            rows = [*rows, *more]
        if draw.random() < 0.3:
            mode = draw.choice(MODES)
            ice.load_table(table).update_properties().set({"write.merge.mode": mode}).commit()
        merge = drawn_merge(draw, evolves=draw.random() < 0.15)
        given, text = draw.choice(SETTINGS), merge.text(table)
        before = ice.load_table(table)
        said = f"seed {SEED}, step {step}, {dict(before.properties)}, {given}\n{text}"
        try:
            rows = merge.applied(rows, columns)
            columns = merge.grown(columns)
        except MatchedTwiceError:
            with pytest.raises(IcebergError, match="more than one row"):
                by_turns(step, text, given)
            assert ice.load_table(table).metadata_location == before.metadata_location, said
        else:
            by_turns(step, text, given)
        after = ice.load_table(table)
        assert len(after.snapshots()) <= len(before.snapshots()) + 1, said
        found = after.scan().to_arrow()
        assert found.column_names == columns, said
        stored = [list(row.values()) for row in found.to_pylist()]
        assert shown(stored) == shown([[row.get(n) for n in columns] for row in rows]), said
