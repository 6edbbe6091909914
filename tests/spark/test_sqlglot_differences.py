"""Syntax that sqlglot parses differently from Spark loses no row.

The brute-force model is a temporary view of the same rows, which only Spark reads.
"""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import iceberg_spark as ice
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import InvalidInputError, NoSuchSnapshotError
from tests.spark.settings import settings

ROWS = [("a-b", 1), ("ab", 2), ("-ab", 3), ("a", 4), ("xa", 5), (None, 6)]


@pytest.fixture
def texts(spark: Any, sql_home: Path) -> Iterator[Any]:
    """`st.d.t` has a file for each row, `model` the same rows."""
    ice.sql(spark, "CREATE TABLE st.d.t (s string, id bigint)")
    for text, number in ROWS:
        value = "NULL" if text is None else f"'{text}'"
        ice.sql(spark, f"INSERT INTO st.d.t VALUES ({value}, {number})")
    spark.createDataFrame(ROWS, "s string, id bigint").createOrReplaceTempView("model")
    yield spark
    spark.catalog.dropTempView("model")


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


@pytest.mark.parametrize(
    "condition",
    [
        "s = concat_ws('-', 'a', 'b')",
        "s = concat('a', 'b')",
        "s = 'a' 'b'",
        "s IN (concat_ws('-', 'a', 'b'), concat_ws('', 'x', 'a'))",
        "s > concat_ws('a', 'b')",
        "s = 'a' || '-b'",
        "startswith(s, concat_ws('-', 'a', 'b'))",
    ],
)
def test_adjacent_string_literals_are_joined_as_in_spark(texts: Any, condition: str) -> None:
    expected = ids(texts.sql(f"SELECT * FROM model WHERE {condition}"))
    assert ids(ice.sql(texts, f"SELECT * FROM st.d.t WHERE {condition}")) == expected
    ice.sql(texts, f"DELETE FROM st.d.t WHERE {condition}")
    left = ids(texts.sql(f"SELECT * FROM model WHERE NOT coalesce({condition}, false)"))
    assert ids(ice.sql(texts, "SELECT * FROM st.d.t")) == left


ENDED: list[Any] = []
"""Sessions over Connect that must not be collected while another is used.

Then PySpark's `__del__` waits for the calls of all sessions, maybe in a thread that one of these
waits for.
"""


@pytest.fixture
def own_session(spark: Any, any_spark: Any) -> Iterator[Any]:
    """A session of the test's own: what it registers stays registered."""
    if any_spark is spark:
        yield spark.newSession()
        return
    port = spark.sparkContext.getConf().get("spark.connect.grpc.binding.port")
    session = type(any_spark).builder.remote(f"sc://localhost:{port}").create()
    ENDED.append(session)
    yield session
    session.stop()


def test_a_user_function_may_replace_one_of_spark(own_session: Any, tmp_path: Path) -> None:
    """`udf.register` replaces functions of Spark; queries and DELETE call the new one.

    Spark 4.3 takes its own first, unless a setting says otherwise, and then so do we.
    """
    spark, place = own_session, str(tmp_path / "t")
    table = ice.create_table(place, "s string, id bigint")
    for text, number in ROWS:
        table.append(pa.table({"s": pa.array([text], pa.string()), "id": [number]}))
    spark.createDataFrame(ROWS, "s string, id bigint").createOrReplaceTempView("model")
    condition = "startswith(s, 'a') AND `LIKE`(s, 'x%') /* as (before) */"
    spark.udf.register("startswith", lambda s, end: s is not None and s.endswith(end), "boolean")
    spark.udf.register("like", lambda s, begin: s is not None and begin > s, "boolean")
    for order in ("second", "first"):
        spark.conf.set("spark.sql.functionResolution.sessionOrder", order)
        expected = ids(spark.sql(f"SELECT * FROM model WHERE {condition}"))
        assert ids(ice.sql(spark, f"SELECT * FROM `{place}` WHERE {condition}")) == expected
        frame = spark.read.format("pyiceberg-lite").load(place)
        assert ids(frame.where(condition)) == expected
    assert expected == [4]
    ice.sql(spark, f"DELETE FROM `{place}` WHERE {condition}")
    assert ids(ice.sql(spark, f"SELECT * FROM `{place}`")) == [1, 2, 3, 5, 6]


@pytest.mark.parametrize("name", ["starts_with", "is_nan", "ts_or_ds_add"])
def test_a_user_function_may_have_the_name_of_a_sqlglot_function(texts: Any, name: str) -> None:
    texts.udf.register(name, lambda one, two: one is not None and one.endswith(two), "boolean")
    try:
        condition = f"{name}(s, 'a')"
        expected = ids(texts.sql(f"SELECT * FROM model WHERE {condition}"))
        assert expected == [4, 5]
        assert ids(ice.sql(texts, f"SELECT * FROM st.d.t WHERE {condition}")) == expected
        ice.sql(texts, f"DELETE FROM st.d.t WHERE {condition}")
        assert ids(ice.sql(texts, "SELECT * FROM st.d.t")) == [1, 2, 3, 6]
    finally:
        texts.sql(f"DROP TEMPORARY FUNCTION {name}")


WORDS = ["current_user", "current_date", "current_timestamp", "localtime", "year", "count", "day"]


@pytest.mark.parametrize("word", WORDS)
def test_a_column_named_like_a_keyword_is_read(spark: Any, sql_home: Path, word: str) -> None:
    """sqlglot parses a function there instead of a name: the query seemed to need no column."""
    ice.sql(spark, f"CREATE TABLE st.d.t (`{word}` string, id bigint, other int)")
    ice.sql(spark, "INSERT INTO st.d.t VALUES ('x', 1, 2)")
    spark.createDataFrame([("x", 1, 2)], f"`{word}` string, id bigint, other int").createTempView(
        "model"
    )
    try:
        for text in (f"SELECT {word}, id FROM", f"SELECT t.{word}, t.id FROM"):
            expected = spark.sql(f"{text} model t").collect()
            assert ice.sql(spark, f"{text} st.d.t t").collect() == expected == [("x", 1)]
    finally:
        spark.catalog.dropTempView("model")


def test_a_keyword_selects_no_column_that_spark_cannot_read(spark: Any, sql_home: Path) -> None:
    columns = "id bigint, ts timestamp, timestamp timestamp_ns, at timestamp_ns"
    ice.load_catalog("st").create_table("d.t", columns, properties={"format-version": "3"})
    moment = dt.datetime(2024, 1, 2, tzinfo=dt.UTC)
    ice.load_table("st.d.t").append(pa.table({"id": [1], "ts": [moment]}))
    query = "SELECT id FROM st.d.t WHERE ts > TIMESTAMP '2024-01-01' AND id <> length('at') -- at"
    assert ice.sql(spark, query).collect() == [(1,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT (SELECT count(*) FROM {t}) AS a, (SELECT count(*) FROM {t}) AS b",
        "SELECT count(a.id) AS a, count(b.id) AS b FROM {t} a FULL JOIN {t} b ON a.id = b.id",
        "WITH w AS (FROM {t}) SELECT count(*) AS a, (SELECT count(*) FROM {t}) AS b FROM w",
    ],
)
def test_a_query_reads_one_version_of_a_table_that_it_names_twice(
    spark: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """Another writer commits at each load of the table; the query still reads one version."""
    ice.load_catalog("fs").create_namespace("d")
    ice.sql(spark, "CREATE TABLE fs.d.t AS SELECT 1L AS id")
    load, busy = FileSystemCatalog.load, False

    def load_and_append(self: FileSystemCatalog, identifier: str) -> Any:
        nonlocal busy
        found = load(self, identifier)
        if not busy:
            busy = True
            ice.load_table("fs.d.t").append(spark.range(2, 3))
            busy = False
        return found

    monkeypatch.setattr(FileSystemCatalog, "load", load_and_append)
    (row,) = ice.sql(spark, query.format(t="fs.d.t")).collect()
    assert row.a == row.b == 1
    monkeypatch.undo()
    assert ice.sql(spark, "SELECT * FROM fs.d.t").count() > 1


READ = [
    "SELECT window.start AS w, count(*) AS n FROM {t} GROUP BY window(ts, '1 hour') ORDER BY w",
    "SELECT `window`.end, n FROM (SELECT window(ts, '1 day') AS window, 1 AS n FROM {t})",
    "SELECT window, count(*) AS n FROM (SELECT id AS window FROM {t}) GROUP BY window ORDER BY 1",
    "SELECT sum(id) OVER w AS n FROM {t} WINDOW w AS (ORDER BY id) ORDER BY n",
    "SELECT values, using FROM {t} WHERE values > 1 AND {t}.using IS NOT NULL ORDER BY values",
    "SELECT id >>> 1 AS n FROM {t} WHERE values >>> 1 = 1 ORDER BY n",
    "SELECT id >>> -1 AS n, id >>> +1 FROM {t} ORDER BY id",
    "SELECT sum(values) AS n FROM {t} GROUP BY using HAVING sum(values) >= 1 ORDER BY n",
    "SELECT from_json('[[[1]]]', 'array<array<array<int>>>') AS n, id >>> 1 FROM {t} ORDER BY id",
]


@pytest.mark.parametrize("query", READ)
def test_names_and_operators_that_sqlglot_reads_as_keywords(
    spark: Any, sql_home: Path, query: str
) -> None:
    columns = "id bigint, ts timestamp, `values` int, `using` string"
    rows = """VALUES (1L, TIMESTAMP '2024-01-01 00:10:00', 1, 'a'),
        (2L, TIMESTAMP '2024-01-01 01:10:00', 2, 'b'), (3L, NULL, 3, NULL)"""
    ice.sql(spark, f"CREATE TABLE st.d.t ({columns})")
    for row in (1, 2, 3):  # a file each, so that a wrong pruning shows
        ice.sql(spark, f"INSERT INTO st.d.t SELECT * FROM {rows} AS v(a, b, c, d) WHERE a = {row}")
    spark.sql(f"SELECT * FROM {rows} AS v(id, ts, values, using)").createTempView("model")
    try:
        expected = spark.sql(query.replace("{t}.", "model.").format(t="model")).collect()
        assert ice.sql(spark, query.format(t="st.d.t")).collect() == expected
    finally:
        spark.catalog.dropTempView("model")


def test_a_timestamp_of_time_travel_may_be_a_sum(spark: Any, sql_home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t AS SELECT 1L AS id")
    query = "SELECT * FROM st.d.t TIMESTAMP AS OF now() {} INTERVAL 1 DAY 2 HOURS t WHERE t.id > 0"
    assert ice.sql(spark, query.format("+")).collect() == [(1,)]
    with pytest.raises(NoSuchSnapshotError):
        ice.sql(spark, query.format("-")).collect()
    with pytest.raises(InvalidInputError, match="no moment"):
        ice.sql(spark, "SELECT * FROM st.d.t TIMESTAMP AS OF CAST(NULL AS TIMESTAMP)")


def test_version_and_timestamp_of_time_travel_may_be_parameters(
    any_spark: Any, tmp_path: Path
) -> None:
    spark, place = any_spark, str(tmp_path / "t")
    table = ice.create_table(place, "s string, id bigint")
    table.append(pa.table({"s": ["a"], "id": [1]}))
    first = table.refresh().current_snapshot()
    table.append(pa.table({"s": ["b"], "id": [2]}))
    table.manage_snapshots().create_tag(first.snapshot_id, "one").commit()
    moment = dt.datetime.fromtimestamp(first.timestamp_ms / 1000, dt.UTC)
    by_name = f"SELECT id + :n AS id FROM `{place}` {{}} AS OF :v WHERE id < :most"
    by_place = f"SELECT id + ? AS id FROM `{place}` {{}} AS OF ? t WHERE id < ?"
    for kind, value in [
        ("VERSION", first.snapshot_id),
        ("VERSION", "one"),
        ("FOR SYSTEM_VERSION", "one"),
        ("TIMESTAMP", moment),
        ("TIMESTAMP", moment.isoformat()),
    ]:
        named = {"v": value, "n": 5, "most": 9}
        assert ids(ice.sql(spark, by_name.format(kind), named)) == [6]
        assert ids(ice.sql(spark, by_place.format(kind), [5, value, 9])) == [6]
    cast = f"SELECT id FROM `{place}` TIMESTAMP AS OF CAST(:v AS TIMESTAMP) + INTERVAL 0 DAY"
    assert ids(ice.sql(spark, cast, {"v": moment.isoformat()})) == [1]
    with pytest.raises(InvalidInputError, match="give the value of that parameter"):
        ice.sql(spark, by_name.format("VERSION"))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s, id FROM {} |> WHERE id > 1 |> LIMIT 10",
        "SELECT * FROM {} |> UNION ALL SELECT * FROM {} |> WHERE id < 3",
        "FROM {} |> SET id = id + 1 |> DROP s",
        "FROM {} |> EXCEPT SELECT s, id FROM {} WHERE id > 2",
        "FROM {} |> AS a |> JOIN {} AS b USING (s) |> AGGREGATE sum(a.id) AS q GROUP BY s AS z",
        "SELECT * FROM {} UNION ALL TABLE {}",
        "WITH a AS (TABLE {}) TABLE a",
        "SELECT * FROM {} VERSION AS OF 'main' PIVOT (max(id) FOR s IN ('a', 'ab')) ",
        "SELECT id, parse_json('{{\"a\": 7}}'):a::int AS a FROM {} WHERE id !< 3",
        (
            "WITH RECURSIVE r(n) MAX RECURSION LEVEL 9 AS (SELECT 1 UNION ALL SELECT n + 1 FROM r "
            "WHERE n < 5) SELECT t.id FROM {} t JOIN r ON r.n = t.id"
        ),
    ],
)
def test_syntax_that_sqlglot_lacks_behaves_as_in_spark(texts: Any, query: str) -> None:
    def found(frame: Any) -> tuple[list[str], list[Any]]:
        return frame.columns, sorted(map(repr, frame.collect()))

    whole = query.replace(" VERSION AS OF 'main'", "")
    expected = found(texts.sql(whole.format("model", "model")))
    assert expected[1]
    assert found(ice.sql(texts, query.format("st.d.t", "st.d.t"))) == expected


@pytest.mark.parametrize("name", ["to_timestamp", "date", "int"])
def test_a_user_function_may_replace_a_cast(own_session: Any, tmp_path: Path, name: str) -> None:
    spark, place = own_session, str(tmp_path / "t")
    table = ice.create_table(place, "year int")
    for year in (2019, 2021, 2023):
        table.append(pa.table({"year": pa.array([year], pa.int32())}))
    spark.createDataFrame([(2019,), (2021,), (2023,)], "year int").createOrReplaceTempView("model")
    spark.udf.register(name, lambda _: 2020, "int")
    for order in ("second", "first"):  # 4.3 takes its own first
        spark.conf.set("spark.sql.functionResolution.sessionOrder", order)
        condition = (
            f"year > {name}('2022')" if name == "int" else f"year > 0 + {name}('2022-01-01')"
        )
        try:
            expected = sorted(row[0] for row in spark.table("model").where(condition).collect())
        except PySparkException:  # Spark's own gives no number
            continue
        found = ice.sql(spark, f"SELECT year FROM `{place}` WHERE {condition}").collect()
        assert sorted(row[0] for row in found) == expected


def test_a_join_after_a_comma_may_refer_to_its_own_two_tables_only(
    spark: Any, sql_home: Path
) -> None:
    ice.sql(spark, "CREATE TABLE st.d.a (id int, k int)")
    for number in (1, 2, 3):
        ice.sql(spark, f"INSERT INTO st.d.a VALUES ({number}, {number})")
    ice.sql(spark, "CREATE TABLE st.d.b AS SELECT 1 AS id")
    ice.sql(spark, "CREATE TABLE st.d.c AS SELECT 1 AS id, 1 AS k")
    joined = "st.d.a a, st.d.b b JOIN st.d.c c ON b.id = c.id AND k = 1"
    with settings(spark, {"spark.sql.ansi.relationPrecedence": "true"}):
        assert ice.sql(spark, f"SELECT a.id FROM {joined}").count() == 3
