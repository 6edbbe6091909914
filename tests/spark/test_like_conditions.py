"""LIKE of several words: each is looked for before a regular expression is."""

import random
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.session import classic_queries

WORDS = (
    "special",
    "requests",
    "a",
    "é",
    "e\u0301",
    "\U0001f9ca",
    "%",
    "_",
    "\n",
    " ",
    "\\",
    "\ufffd",
)
QUERIES = (
    "SELECT id FROM {t} WHERE s LIKE {p}",
    "SELECT id FROM {t} WHERE s NOT LIKE {p}",
    "SELECT id FROM {t} WHERE (s LIKE {p}) IS NULL",
    "SELECT id FROM {t} WHERE CASE WHEN s LIKE {p} THEN id > 20 ELSE id < 20 END",
    "SELECT a.id, b.id FROM {t} a LEFT JOIN {t} b ON a.id = b.id AND b.s NOT LIKE {p}",
    "SELECT max(id) FROM {t} GROUP BY s HAVING s LIKE {p}",
    "SELECT id FROM {t} WHERE id IN (SELECT id + 1 FROM {t} WHERE s LIKE {p})",
)


def texts() -> list[str | None]:
    some = random.Random(3)
    made = ["".join(some.choices(WORDS, k=some.randrange(7))) for _ in range(300)]
    return [None, "", "special requests", "requests special", "specialrequests", *made]


def patterns() -> Iterator[str]:
    some = random.Random(5)
    yield from (
        "%special%requests%",
        "special_requests",
        "%a%a%",
        "_%_",
        "%",
        "a%é",
        "%é%\U0001f9ca%",
    )
    pieces = [one for one in WORDS if one != "\\"] + ["%"] * 4 + ["_"] * 2
    for _ in range(40):
        yield "".join(some.choices(pieces, k=some.randrange(1, 7)))


@pytest.fixture(scope="module")
def places(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("likes")
    rows = pa.table({"id": pa.array(range(len(texts())), pa.int64()), "s": texts()})
    table = ice.create_table(str(folder / "t"), "id bigint, s string")
    table.append(rows)
    spark.createDataFrame(rows.to_pandas(), "id bigint, s string").createOrReplaceTempView("plain")
    ice.enable(spark)
    try:
        table.scan().to_df(spark).createOrReplaceTempView("of_ours")
        yield {"ours": f"`{folder}/t`", "view": "of_ours", "plain": "plain"}
    finally:
        ice.disable(spark)
        for view in ("plain", "of_ours"):
            spark.catalog.dropTempView(view)


def quoted(pattern: str) -> str:
    return "'" + pattern.replace("\\", "\\\\").replace("'", "\\'") + "'"


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().analyzed().toString())


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_spark(spark: SparkSession, places: dict[str, str], query: str) -> None:
    for pattern in patterns() if query is QUERIES[0] else list(patterns())[:12]:
        found = {
            name: sorted(map(str, spark.sql(query.format(t=place, p=quoted(pattern))).collect()))
            for name, place in places.items()
        }
        assert found["ours"] == found["view"] == found["plain"], pattern


def test_words_are_looked_for_in_tables_and_views_of_ours_alone(
    spark: SparkSession, places: dict[str, str]
) -> None:
    frames = {
        name: spark.sql(f"SELECT * FROM {place} WHERE s NOT LIKE '%special%requests%'")
        for name, place in places.items()
    }
    assert {name: plan(frame).count("Contains(s") for name, frame in frames.items()} == {
        "ours": 2,
        "view": 2,
        "plain": 0,
    }
    assert frames["ours"].schema == frames["view"].schema


@pytest.mark.parametrize(
    "condition",
    [
        "s LIKE '%special%'",
        "s LIKE 'special%'",
        "s LIKE 'special%requests'",
        r"s LIKE '%special\\%%requests%'",
        "s LIKE '%special/%%requests%' ESCAPE '/'",
        "upper(s) LIKE '%SPECIAL%REQUESTS%'",
        "s COLLATE UTF8_LCASE LIKE '%Special%Requests%'",
        "id LIKE '%1%2%'",
        "s LIKE concat(id, '%a%b')",
        "s LIKE NULL",
        "s LIKE '%\ufffd%a%'",
    ],
)
def test_other_conditions_stay_as_they_are(
    spark: SparkSession, places: dict[str, str], condition: str
) -> None:
    frame = spark.sql(f"SELECT * FROM {places['ours']} WHERE {condition}")
    assert "Contains(" not in plan(frame)
    rows = spark.sql(f"SELECT * FROM plain WHERE {condition}").collect()
    assert sorted(map(str, frame.collect())) == sorted(map(str, rows))


def test_a_pattern_that_spark_refuses_is_refused(
    spark: SparkSession, places: dict[str, str]
) -> None:
    text = r"SELECT * FROM {} WHERE s LIKE '%nowhere\\x%requests%'"
    for name in ("plain", "ours"):
        with pytest.raises(Exception, match="INVALID_FORMAT"):
            spark.sql(text.format(places[name])).collect()


def test_rows_that_spark_keeps_are_used(spark: SparkSession, places: dict[str, str]) -> None:
    view = f"SELECT * FROM {places['ours']} WHERE s LIKE '%special%requests%'"
    spark.sql(f"CACHE TABLE kept_likes AS {view}")
    try:
        frame = spark.sql("SELECT * FROM kept_likes WHERE s NOT LIKE '%a%b%'")
        used = frame._jdf.queryExecution().executedPlan().toString()
        assert "In-memory table kept_likes" in used
    finally:
        spark.sql("UNCACHE TABLE kept_likes")
        spark.catalog.dropTempView("kept_likes")


def test_rows_of_a_query_that_spark_keeps_are_found_and_let_go_by_the_same_query(
    spark: SparkSession, places: dict[str, str]
) -> None:
    text = f"SELECT * FROM {places['ours']} WHERE s LIKE '%special%requests%'"
    first = spark.sql(text).cache()
    try:
        assert "Contains(s" in plan(first) and first.count() > 0
        again = spark.sql(text)
        assert "InMemoryTableScan" in again._jdf.queryExecution().executedPlan().toString()
        spark.sql(text).unpersist(blocking=True)
        assert first.storageLevel == spark.range(1).storageLevel
    finally:
        first.unpersist()


def test_words_are_looked_for_once_in_views_of_views(
    spark: SparkSession, places: dict[str, str]
) -> None:
    spark.sql(
        f"SELECT * FROM {places['ours']} WHERE s NOT LIKE '%special%requests%'"
    ).createOrReplaceTempView("first_likes")
    try:
        frame = spark.sql("SELECT * FROM first_likes WHERE s NOT LIKE '%a%b%'")
        assert plan(frame).count("Contains(s") == 4
    finally:
        spark.catalog.dropTempView("first_likes")


def test_other_sources_are_not_asked_for_words(spark: SparkSession, places: dict[str, str]) -> None:
    """A database would be asked whether its column has them, of whatever type that is there."""
    driver = {"driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    given = ("jdbc:derby:memory:likes;create=true", "t")
    rows = spark.range(9).selectExpr("id AS k", "cast(id AS string) AS js")
    rows.write.jdbc(*given, properties=driver)
    spark.read.jdbc(*given, properties=driver).createOrReplaceTempView("elsewhere")
    text = f"SELECT * FROM {places['ours']} JOIN elsewhere ON id = k WHERE {{}} LIKE '%a%b%'"
    for column in ("js", "s"):
        assert "Contains(" not in plan(spark.sql(text.format(column)))
    spark.catalog.dropTempView("elsewhere")


def test_where_java_is_not_compiled_nothing_changes(
    spark: SparkSession, places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classic_queries, "compiled_object", lambda *_: None)
    frame = spark.sql(f"SELECT * FROM {places['ours']} WHERE s LIKE '%special%requests%'")
    assert "Contains(" not in plan(frame)
    assert frame.count() > 0
