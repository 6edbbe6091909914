"""Columns behind whole names of tables whose own names are alike: ours and Java's side by side."""

from collections.abc import Iterator
from functools import partial

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.by_turns import ByTurns
from tests.oracle.test_statements import content, given, ours_of, place, refused

# a temporary view is called t as well; `facts` has a struct of that name
TABLES = [
    "CREATE TABLE {c}.main.t (id int, v int) USING iceberg",
    "INSERT INTO {c}.main.t VALUES (1, 10), (2, 20), (3, 30)",
    "CREATE TABLE {c}.side.t (id int, v int, only_here int) USING iceberg",
    "INSERT INTO {c}.side.t VALUES (2, 200, 7), (3, 300, 8), (4, 400, 9)",
    "CREATE TABLE {c}.side.facts (id int, t struct<id: int>) USING iceberg",
    "INSERT INTO {c}.side.facts VALUES (1, named_struct('id', 3)), (2, named_struct('id', 3))",
]
M, S, F = "{c}.main.t", "{c}.side.t", "{c}.side.facts"
ASKED = [
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {S} WHERE {S}.id = {M}.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE NOT EXISTS (SELECT 1 FROM {S} WHERE {S}.id = {M}.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {S} WHERE t.id = {M}.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {S} WHERE {S}.id = t.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM t WHERE t.id = {M}.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM t WHERE t.id = main.t.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {S} WHERE side.t.id = main.t.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {S} x WHERE x.id = {M}.id) ORDER BY id",
    f"SELECT * FROM {M} x WHERE EXISTS (SELECT 1 FROM {S} WHERE {S}.id = x.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {S} t WHERE t.id = {M}.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE {M}.id NOT IN (SELECT {S}.id FROM {S}) ORDER BY t.id",
    f"SELECT * FROM {M} WHERE v IN (SELECT {M}.v FROM {S} WHERE {S}.id = {M}.id) ORDER BY {M}.id",
    f"""SELECT {M}.id, (SELECT max(v) FROM {S} WHERE {S}.id = {M}.id)
        FROM {M} WHERE {M}.v > 0 ORDER BY {M}.id""",
    f"""SELECT id, (SELECT max({S}.v) + 1 FROM {S} WHERE {S}.id = {M}.id) m
        FROM {M} WHERE {M}.v > 0 ORDER BY t.id""",
    f"SELECT {M}.id + 1, max({M}.v) FROM {M} GROUP BY {M}.id + 1 ORDER BY 1",
    f"SELECT {M}.id, l.v FROM {M}, LATERAL (SELECT v FROM {S} WHERE {S}.id = {M}.id) l ORDER BY 1",
    f"SELECT {M}.*, {S}.id FROM {M} JOIN {S} ON {M}.id = {S}.id ORDER BY 1",
    f"SELECT main.t.id, side.t.only_here FROM {M} JOIN {S} ON main.t.id = side.t.id ORDER BY 1",
    f"SELECT {M}.id, {S}.id FROM {M} FULL JOIN {S} ON {M}.id = {S}.id AND {S}.v > 200 ORDER BY 1,2",
    f"SELECT {M}.id FROM {M} JOIN {S} AS t2 ON {M}.id = t2.id WHERE t.v > 20 ORDER BY t.id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {F} WHERE facts.t.id = {M}.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {F} WHERE t.id = {M}.id) ORDER BY id",
    f"SELECT * FROM {M} WHERE EXISTS (SELECT 1 FROM {M} WHERE {M}.id = 1) ORDER BY id",
    f"WITH t AS (SELECT 2 AS i) SELECT v FROM {M} WHERE EXISTS (SELECT 1 FROM t WHERE i = {M}.id)",
    f"WITH t AS (SELECT {M}.id FROM {M} WHERE {M}.id > 1) SELECT t.id FROM t ORDER BY t.id",
    f"SELECT * FROM (SELECT {M}.v FROM {M}) t WHERE t.v > 10 ORDER BY t.v",
    f"SELECT {M}.id FROM {M} WHERE {M}.v > 10 UNION ALL SELECT {S}.id FROM {S} ORDER BY id",
    f"""SELECT id FROM {M} GROUP BY id
        HAVING max({M}.v) > (SELECT min(v) / 10 FROM {S} WHERE {S}.id >= {M}.id) ORDER BY 1""",
]
CHANGES = [
    f"DELETE FROM {M} WHERE EXISTS (SELECT 1 FROM {S} WHERE {S}.id = {M}.id)",
    f"DELETE FROM {M} WHERE EXISTS (SELECT 1 FROM t WHERE t.id = {M}.id)",
    f"DELETE FROM {M} WHERE EXISTS (SELECT 1 FROM t WHERE t.id = main.t.id) AND t.id > 0",
    f"DELETE FROM {M} WHERE NOT EXISTS (SELECT 1 FROM {S} WHERE t.id = {M}.id) AND {M}.v > 0",
    f"DELETE FROM {M} WHERE EXISTS (SELECT 1 FROM {F} WHERE t.id = {M}.id)",
    f"DELETE FROM {M} x WHERE EXISTS (SELECT 1 FROM {S} WHERE {S}.id = x.id)",
    f"DELETE FROM {M} WHERE id IN (SELECT {S}.id FROM {S} WHERE {S}.v = 10 * {M}.v)",
    f"WITH t AS (SELECT 2 AS i) DELETE FROM {M} WHERE EXISTS (SELECT 1 FROM t WHERE t.i = {M}.id)",
    f"UPDATE {M} SET v = (SELECT max(v) FROM {S} WHERE {S}.id = {M}.id)",
    f"UPDATE {M} SET {M}.v = t.v + 1 WHERE EXISTS (SELECT 1 FROM t WHERE t.id = {M}.id)",
    f"""MERGE INTO {M} USING {S} ON {M}.id = {S}.id WHEN MATCHED THEN UPDATE SET v = {S}.v
        WHEN NOT MATCHED THEN INSERT (id, v) VALUES ({S}.id, t.only_here)""",
    f"MERGE INTO {M} USING {S} s ON {M}.id = s.id AND s.v > 200 WHEN MATCHED THEN DELETE",
    f"""MERGE INTO {M} x USING {S} ON x.id = {S}.id
        WHEN MATCHED AND {S}.v > 200 THEN UPDATE SET x.v = t.v""",
    f"MERGE INTO {M} USING {F} ON {M}.id = {F}.t.id AND facts.id = 1 WHEN MATCHED THEN DELETE",
]
FULL = "INSERT OVERWRITE {c}.main.t VALUES (1, 10), (2, 20), (3, 30)"
REFUSED = [
    f"MERGE INTO {M} USING t ON {M}.id = t.v / 100 WHEN MATCHED THEN DELETE",
    f"SELECT t.id, {M}.v FROM {M} JOIN {S} ON {M}.id = {S}.id",
    f"SELECT 1 FROM {F} x WHERE EXISTS (SELECT 1 FROM {M} JOIN {S} ON {M}.id = {S}.id AND t.v > 1)",
]


@pytest.fixture(scope="module")
def alike(
    java: SparkSession, by_turns: ByTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    with by_turns.with_catalog("n", str(tmp_path_factory.mktemp("names"))):
        for name in ("main", "side"):
            java.sql(f"CREATE NAMESPACE j.{name}")
            ice.sql(java, f"CREATE NAMESPACE n.{name}")
        for text in TABLES:
            java.sql(text.format(c="j"))
            ice.sql(java, text.format(c="n"))
        for session in (java, by_turns.remote):
            session.sql("SELECT 2 AS id, 200 AS v").createOrReplaceTempView("t")
        yield java
        for session in (java, by_turns.remote):
            session.catalog.dropTempView("t")


def refill(spark: SparkSession, by_turns: ByTurns, turn: int) -> None:
    """Have both main tables hold what they held at first."""
    spark.sql(FULL.format(c="j"))
    by_turns.run(turn, ours_of(FULL, FULL.format(c="n")))


@pytest.mark.timeout(300)
def test_a_query_gives_what_javas_gives(alike: SparkSession, by_turns: ByTurns) -> None:
    refill(alike, by_turns, 0)
    for turn, text in enumerate(ASKED):
        theirs = given(alike.sql(text.format(c="j")), text)
        assert by_turns.run(turn, ours_of(text, text.format(c="n"))) == theirs, text


@pytest.mark.timeout(300)
def test_a_change_is_of_the_rows_that_javas_is_of(alike: SparkSession, by_turns: ByTurns) -> None:
    mine, theirs = place(alike, "n", "t", "main"), place(alike, "j", "t", "main")
    for turn, text in enumerate(CHANGES):
        refill(alike, by_turns, turn)
        alike.sql(text.format(c="j"))
        by_turns.run(turn, ours_of(text, text.format(c="n")))
        assert content(mine) == content(theirs), text
    for turn, text in enumerate(REFUSED):
        before = content(mine)
        assert refused(lambda each: alike.sql(each).collect(), text.format(c="j")), text
        assert refused(partial(by_turns.run, turn), ours_of(text, text.format(c="n"))), text
        assert content(mine) == before, text
