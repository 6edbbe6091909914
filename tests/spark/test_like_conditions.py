"""LIKE conditions in SQL over Iceberg tables return the rows that Spark returns for a view."""

import random
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice

PIECES = (
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


def random_strings() -> list[str | None]:
    generator = random.Random(3)
    strings = ["".join(generator.choices(PIECES, k=generator.randrange(7))) for _ in range(300)]
    return [None, "", "special requests", "requests special", "specialrequests", *strings]


def random_patterns() -> Iterator[str]:
    generator = random.Random(5)
    yield from (
        "%special%requests%",
        "special_requests",
        "%a%a%",
        "_%_",
        "%",
        "a%é",
        "%é%\U0001f9ca%",
    )
    pieces = [piece for piece in PIECES if piece != "\\"] + ["%"] * 4 + ["_"] * 2
    for _ in range(40):
        yield "".join(generator.choices(pieces, k=generator.randrange(1, 7)))


@pytest.fixture(scope="module")
def relations(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("likes")
    strings = random_strings()
    rows = pa.table({"id": pa.array(range(len(strings)), pa.int64()), "s": strings})
    table = ice.create_table(str(folder / "t"), "id bigint, s string")
    table.append(rows)
    spark.createDataFrame(rows.to_pandas(), "id bigint, s string").createOrReplaceTempView("plain")
    ice.enable(spark)
    try:
        table.scan().to_df(spark).createOrReplaceTempView("view_of_table")
        yield {"table": f"`{folder}/t`", "view": "view_of_table", "plain": "plain"}
    finally:
        ice.disable(spark)
        for view in ("plain", "view_of_table"):
            spark.catalog.dropTempView(view)


def quoted(pattern: str) -> str:
    return "'" + pattern.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.mark.parametrize("query", QUERIES)
def test_like_returns_the_rows_of_spark(
    spark: SparkSession, relations: dict[str, str], query: str
) -> None:
    patterns = list(random_patterns())
    for pattern in patterns if query is QUERIES[0] else patterns[:12]:
        rows = {
            name: sorted(
                map(str, spark.sql(query.format(t=name_in_sql, p=quoted(pattern))).collect())
            )
            for name, name_in_sql in relations.items()
        }
        assert rows["table"] == rows["view"] == rows["plain"], pattern


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
def test_other_like_conditions_return_the_rows_of_spark(
    spark: SparkSession, relations: dict[str, str], condition: str
) -> None:
    rows = {
        name: sorted(
            map(str, spark.sql(f"SELECT * FROM {relations[name]} WHERE {condition}").collect())
        )
        for name in ("table", "plain")
    }
    assert rows["table"] == rows["plain"]


def test_a_pattern_that_spark_refuses_is_refused(
    spark: SparkSession, relations: dict[str, str]
) -> None:
    text = r"SELECT * FROM {} WHERE s LIKE '%nowhere\\x%requests%'"
    for name in ("plain", "table"):
        with pytest.raises(Exception, match="INVALID_FORMAT"):
            spark.sql(text.format(relations[name])).collect()


def test_a_cached_query_is_used_and_released_by_the_same_query(
    spark: SparkSession, relations: dict[str, str]
) -> None:
    text = f"SELECT * FROM {relations['table']} WHERE s LIKE '%special%requests%'"
    first = spark.sql(text).cache()
    try:
        assert first.count() > 0
        again = spark.sql(text)
        assert "InMemoryTableScan" in again._jdf.queryExecution().executedPlan().toString()
        spark.sql(text).unpersist(blocking=True)
        assert first.storageLevel == spark.range(1).storageLevel
    finally:
        first.unpersist()
