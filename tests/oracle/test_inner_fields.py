"""Structs with other fields than the table's, stored by ours and by Java's: the same rows, or none.

By position fields inside go by position; by name they go by name, and none is missing or too many.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.pyspark_hooks.frame_writer import FrameWriter, insert_into, save_as_table
from iceberg_spark.spark.adapt.builder_state import BuilderState
from tests.oracle.by_turns import ByTurns
from tests.oracle.test_statements import content, place, refused

# Column to its type, and to a value with a struct in it.
COLUMNS = {
    "s": ("struct<a: int, b: int>", "{}"),
    "d": ("struct<i: struct<a: int, b: int>>", "named_struct('i', {})"),
    "x": ("array<struct<a: int, b: int>>", "array({})"),
    "m": ("map<string, struct<a: int, b: int>>", "map('k', {})"),
    "k": ("map<struct<a: int, b: int>, int>", "map({}, 1)"),
}
STRUCTS = {
    "case": "named_struct('A', 1, 'B', 2L)",
    "order": "named_struct('b', 1, 'a', 2)",
    "other": "named_struct('x', 1, 'y', 2)",
    "missing": "named_struct('a', 1)",
    "extra": "named_struct('a', 1, 'b', 2, 'c', 3)",
}
# {v}: a value for each column, {g}: for those at hand, {n}: these by name, {e}: all by name,
# {c}: names of columns, {l}: the source's, {a}: assignments of values, {t}: of the source's.
STATEMENTS = [
    "INSERT INTO {to} VALUES (2, {v})",
    "INSERT INTO {to} REPLACE WHERE id = 2 SELECT 2, {v}",
    "INSERT INTO {to} BY NAME SELECT {n}, 1 AS id",
    "UPDATE {to} SET {a} WHERE id = 1",
    """MERGE INTO {to} t USING (SELECT 1 AS id, {n}) u ON t.id = u.id
       WHEN MATCHED THEN UPDATE SET {t}
       WHEN NOT MATCHED THEN INSERT (id, {c}) VALUES (u.id, {l})""",
    """MERGE INTO {to} t USING (SELECT 1 AS id, {e}) u ON t.id = u.id
       WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""",
]
ALONE = [STATEMENTS[0], STATEMENTS[3]]
LISTED = [
    "INSERT INTO {to} ({c}, id) VALUES ({g}, 4)",
    "INSERT INTO {to} ({c}, id) SELECT {g}, 5",
]
EVOLVING = """MERGE WITH SCHEMA EVOLUTION INTO {to} t USING (SELECT 1 AS id, {n}) u ON t.id = u.id
              WHEN MATCHED THEN UPDATE SET {t}"""
THEIRS: dict[str, Callable[[DataFrame], None]] = {
    "append": lambda rows: rows.writeTo("j.inner.t").append(),
    "overwritePartitions": lambda rows: rows.writeTo("j.inner.t").overwritePartitions(),
    "insertInto": lambda rows: rows.write.insertInto("j.inner.t"),
    "saveAsTable": lambda rows: (
        rows.write.mode("append").format("iceberg").saveAsTable("j.inner.t")
    ),
}
PLACE = ("o", "inner", "t")
OURS: dict[str, Callable[[DataFrame], None]] = {
    "append": lambda rows: FrameWriter(rows, PLACE).append(),
    "overwritePartitions": lambda rows: FrameWriter(rows, PLACE).overwritePartitions(),
    "insertInto": lambda rows: insert_into(rows, PLACE, BuilderState(source="iceberg"), None),
    "saveAsTable": lambda rows: save_as_table(
        rows, PLACE, BuilderState(source="iceberg", mode="append")
    ),
}


@pytest.fixture
def both(
    java: SparkSession, by_turns: ByTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    java.sql("CREATE NAMESPACE IF NOT EXISTS j.inner")
    with by_turns.with_catalog("o", str(tmp_path_factory.mktemp("ours"))):
        ice.sql(java, "CREATE NAMESPACE o.inner")
        make(java)
        yield java
        java.sql("DROP TABLE j.inner.t")


def filled(statement: str, to: str, struct: str, names: list[str]) -> str:
    """Return a statement that stores a struct in these columns, and NULL in the others."""
    given = {name: COLUMNS[name][1].format(STRUCTS[struct]) for name in names}
    every = {name: given.get(name, "NULL") for name in COLUMNS}
    return statement.format(
        to=to,
        v=", ".join(every.values()),
        g=", ".join(given.values()),
        c=", ".join(given),
        n=", ".join(f"{text} AS {name}" for name, text in given.items()),
        e=", ".join(f"{text} AS {name}" for name, text in every.items()),
        a=", ".join(f"{name} = {text}" for name, text in given.items()),
        t=", ".join(f"t.{name} = u.{name}" for name in given),
        l=", ".join(f"u.{name}" for name in given),
    )


def make(both: SparkSession) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    values = ", ".join(
        wrap.format("named_struct('a', 10, 'b', 20)") for _, wrap in COLUMNS.values()
    )
    for run, to in ((both.sql, "j.inner.t"), (partial(ice.sql, both), "o.inner.t")):
        run(f"CREATE TABLE {to} (id int, {columns}) USING iceberg")
        run(f"INSERT INTO {to} VALUES (1, {values})")


def cases() -> Iterator[tuple[str, list[str], str]]:
    """What is stored in all columns at once, and what is refused also in each alone.

    With a list of columns Spark 4.1 goes by name inside arrays and maps, Spark 4.3, and ours, by
    position there too.
    """
    for struct in STRUCTS:
        yield from ((struct, list(COLUMNS), statement) for statement in STATEMENTS)
        yield from ((struct, ["s", "d"], statement) for statement in LISTED)
    for struct in ("missing", "extra"):
        yield from ((struct, [name], text) for name in COLUMNS for text in ALONE)
    for struct in ("order", "missing", "extra"):
        yield struct, ["s", "d", "x", "m"], EVOLVING


def state(both: SparkSession, catalog: str) -> tuple[list[str], list[str]]:
    at = place(both, catalog, "t", "inner")
    return [str(one) for one in ice.load_table(at).schema().fields], content(at)


@pytest.mark.timeout(900)
def test_a_statement_stores_a_struct_as_javas_does(both: SparkSession, by_turns: ByTurns) -> None:
    for turn, (struct, names, statement) in enumerate(cases()):
        theirs, text = (filled(statement, f"{c}.inner.t", struct, names) for c in "jo")
        java = refused(lambda given: both.sql(given).collect(), theirs)
        ours = refused(partial(by_turns.run, turn), lambda one, text=text: ice.sql(one, text))
        assert (ours, state(both, "o")) == (java, state(both, "j")), theirs


@pytest.mark.parametrize("writes", THEIRS)
def test_a_writer_stores_a_struct_as_javas_does(both: SparkSession, writes: str) -> None:
    for struct in STRUCTS:
        frame = both.sql(filled("SELECT 9 AS id, {e}", "", struct, list(COLUMNS)))
        java = refused(THEIRS[writes], frame)
        ours = refused(OURS[writes], frame)
        assert (ours, state(both, "o")) == (java, state(both, "j")), (struct, writes)
