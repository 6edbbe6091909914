"""Row changes on branches, and under Java's session settings of write, audit, publish.

Ours on our table, Java's on its own: after each statement every branch has the same rows, and the
staged snapshots are as many.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.by_turns import ByTurns
from tests.oracle.test_statements import definition, given, ours_of

TABLE = """CREATE TABLE {c}.branched.t (id bigint, p string, n int) USING iceberg
           PARTITIONED BY (p) TBLPROPERTIES ('write.wap.enabled' = 'true', 'write.delete.mode' =
           'copy-on-write', 'write.update.mode' = 'copy-on-write',
           'write.merge.mode' = 'copy-on-write')"""
ROWS = "(1, 'a', 1), (2, 'a', 2), (3, 'b', 3), (4, 'c', 4)"
MERGE = """MERGE INTO {c}.branched.t%s AS t
           USING (SELECT 2L AS id, 'm' AS p UNION ALL SELECT 90L, 'n') s ON t.id = s.id
           WHEN MATCHED THEN UPDATE SET p = s.p
           WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, s.p)
           WHEN NOT MATCHED BY SOURCE AND t.p = 'b' THEN DELETE"""
DYNAMIC = ("spark.sql.sources.partitionOverwriteMode", "dynamic")
STATIC = ("spark.sql.sources.partitionOverwriteMode", "static")
SELECTS = ["SELECT * FROM {c}.branched.t ORDER BY id, p, n",
           "SELECT max(n), count(*) FROM {c}.branched.t"]  # fmt: skip
MERGE_ON_READ = """ALTER TABLE {c}.branched.t SET TBLPROPERTIES ('write.delete.mode' =
           'merge-on-read', 'write.update.mode' = 'merge-on-read',
           'write.merge.mode' = 'merge-on-read')"""
REFUSED = "refused"
CHANGES = [
    "UPDATE {c}.branched.t%s SET n = n + 10, p = 'u' WHERE id = 1",
    MERGE,
    "DELETE FROM {c}.branched.t%s WHERE n > 10 OR id = 90",
    DYNAMIC,
    "INSERT OVERWRITE {c}.branched.t%s VALUES (20, 'c', 1), (21, 'd', 2)",
    "INSERT OVERWRITE {c}.branched.t%s SELECT id, p, n + 1 FROM {c}.branched.t WHERE p = 'a'",
    STATIC,
    "INSERT OVERWRITE {c}.branched.t%s PARTITION (p = 'd') SELECT 30, 3",
    "INSERT INTO {c}.branched.t%s PARTITION (p = 'd') SELECT 31, 3",
    "DELETE FROM {c}.branched.t%s WHERE p = 'm'",
    "INSERT OVERWRITE {c}.branched.t%s VALUES (50, 'e', 5)",
]
STEPS: list[str | tuple[str, str | None]] = [
    TABLE,
    "INSERT INTO {c}.branched.t VALUES " + ROWS,
    "ALTER TABLE {c}.branched.t CREATE BRANCH audit",
    *(step % ".branch_audit" if isinstance(step, str) else step for step in CHANGES),
    "TRUNCATE TABLE {c}.branched.t.branch_audit",
    MERGE_ON_READ,
    # the session's branch, made by the first write
    ("spark.wap.branch", "made"),
    *SELECTS,
    *(step % "" if isinstance(step, str) else step for step in CHANGES),
    *SELECTS,
    "INSERT INTO {c}.branched.t.branch_audit VALUES (60, 'named', 6)",
    "SELECT * FROM {c}.branched.t.branch_audit",
    "SELECT count(*) FROM {c}.branched.t VERSION AS OF 'main'",
    "DELETE FROM {c}.branched.t",
    # both settings: a write goes one way
    ("spark.wap.id", "load-1"),
    "INSERT INTO {c}.branched.t VALUES (70, 'both', 7)",
    SELECTS[0],
    # staged: no branch moves, wherever the statement names one
    ("spark.wap.branch", None),
    "INSERT INTO {c}.branched.t VALUES (80, 'staged', 8)",
    ("spark.wap.id", "load-2"),
    "INSERT INTO {c}.branched.t.branch_audit VALUES (81, 'staged', 8)",
    ("spark.wap.id", "load-3"),
    "UPDATE {c}.branched.t SET n = 0 WHERE id = 1",
    SELECTS[0],
    ("spark.wap.id", None),
    "CALL {c}.system.publish_changes('branched.t', 'load-1')",
    "CALL {c}.system.publish_changes('branched.t', 'load-3')",
    "CALL {c}.system.cherrypick_snapshot('branched.t', 1)",
    "CALL {c}.system.fast_forward('branched.t', 'made', 'audit')",
    *SELECTS,
]

REFUSED_STEPS = [
    "INSERT INTO {c}.branched.t VALUES (70, 'both', 7)",
    SELECTS[0],  # with both settings
    "CALL {c}.system.publish_changes('branched.t', 'load-3')",  # main has gone on since
    "CALL {c}.system.cherrypick_snapshot('branched.t', 1)",
    "CALL {c}.system.fast_forward('branched.t', 'made', 'audit')",
]


@pytest.fixture(scope="module")
def both(
    java: SparkSession, by_turns: ByTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    java.sql("CREATE NAMESPACE j.branched")
    with by_turns.with_catalog("o", str(tmp_path_factory.mktemp("ours"))):
        ice.sql(java, "CREATE NAMESPACE o.branched")
        yield java
    for step in STEPS:
        if isinstance(step, tuple):
            set_both(by_turns, step[0], None)


def home(spark: SparkSession, catalog: str) -> Path:
    """The table's folder."""
    return Path(spark.conf.get(f"spark.sql.catalog.{catalog}.warehouse") or "") / "branched" / "t"


def branches(spark: SparkSession, catalog: str) -> dict[str, list[str]]:
    """Every reference's rows."""
    table = ice.load_table(str(home(spark, catalog)))
    of = {name: table.scan(branch=name).to_arrow().to_pylist() for name in table.refs()}
    return {name: sorted(map(str, rows)) for name, rows in of.items()}


@pytest.mark.timeout(600)
def test_a_statement_changes_the_branch_that_java_changes(
    both: SparkSession, by_turns: ByTurns
) -> None:
    refused = []
    for turn, step in enumerate(STEPS):
        if isinstance(step, tuple):
            set_both(by_turns, *step)
            continue
        ours, theirs = ours_of(step, step.format(c="o")), step.format(c="j")
        wanted = outcome(lambda text=theirs, said=step: given(both.sql(text), said))
        assert outcome(lambda at=turn, run=ours: by_turns.run(at, run)) == wanted, step
        assert branches(both, "o") == branches(both, "j"), step
        mine, java = (definition(str(home(both, catalog))) for catalog in "oj")
        assert mine["refs"] == java["refs"], step
        assert mine["operations"] == java["operations"], step
        if wanted == REFUSED:
            refused.append(step)
    assert refused == REFUSED_STEPS


def set_both(by_turns: ByTurns, key: str, value: str | None) -> None:
    for session in (by_turns.classic, by_turns.remote):
        if value is None:
            session.conf.unset(key)
        else:
            session.conf.set(key, value)


def outcome(run: Any) -> Any:
    """What a statement gives."""
    try:
        return run()
    except Exception:  # noqa: BLE001 (Java's are of many kinds)
        return REFUSED
