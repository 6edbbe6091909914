"""Random predicates select the rows that Spark's own `where` selects.

Each predicate is counted over the same rows three times: by Spark, by the row filter in Arrow, and
over the files that pruning leaves. The row filter may refuse a predicate; it may never differ.
"""

import datetime as dt
import random
import re
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.query import plan_query
from tests.spark.settings import settings

BIG = 2**53
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int32(), [-(2**31), -1, 0, 1, 5, 16777217, 2**31 - 1]),
    "l": (pa.int64(), [-(2**63), -1, 0, 5, BIG, BIG + 1, BIG + 2, 2**63 - 1]),
    "f": (pa.float32(), [float("nan"), float("-inf"), -0.0, 0.0, 0.1, 5.0, 16777216.0]),
    "d": (pa.float64(), [float("nan"), float("inf"), -0.0, 0.1, 5.0, float(BIG), -1e300]),
    "c": (pa.decimal128(9, 2), [Decimal(n).scaleb(-2) for n in (-999999999, 0, 10, 500, 501)]),
    "w": (pa.decimal128(38, 2), [Decimal(n).scaleb(-2) for n in (0, 10, 100 * BIG + 100, 500)]),
    "s": (pa.string(), ["", "5", "abc", "it's", "a\\b", "true", "2024-03-31", "%", "05", '"s"']),
    "b": (pa.binary(), [b"", b"abc", b"\xff", b"5"]),
    "o": (pa.bool_(), [True, False]),
    "t": (pa.date32(), [dt.date(2024, 3, 31), dt.date(1970, 1, 1), dt.date(2024, 10, 27)]),
    "z": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(2024, 10, 27, hour, 30, tzinfo=dt.UTC) for hour in (0, 1, 2)]
        + [dt.datetime(2024, 3, 31, hour, 30, tzinfo=dt.UTC) for hour in (0, 1)]
        + [dt.datetime(2024, 3, 30, 23, tzinfo=dt.UTC), dt.datetime(2024, 3, 31, tzinfo=dt.UTC)],
    ),
    "n": (
        pa.timestamp("us"),
        [
            dt.datetime.fromisoformat(f"2024-{each}:30:00")
            for each in ("03-31 00", "03-31 01", "03-31 02", "03-31 03", "10-27 01", "10-27 02")
        ]
        + [dt.datetime.fromisoformat(f"2024-{each}") for each in ("03-31", "03-31 02", "03-31 03")],
    ),
}
LITERALS = (
    "5", "-1", "05", "5L", "5.0", "0.1", "0.1D", "0.1F", "0.10BD", "1e-1", "-0.0D", "0", "5S", "5Y",
    "9007199254740993", "9007199254740993.00", "9007199254740992D", "double('NaN')", "16777217",
    "cast('Infinity' as double)", "cast('-inf' as float)", "3000000000", "-9223372036854775808",
    "1e300", "16777217D", "'5'", "' 5 '", "'5.0'", "'0.1'", "'abc'", "''", "'it\\'s'", "'it''s'",
    "'a\\\\b'", "'a\\tb'", "r'a\\b'", "'a' 'bc'", "\"abc\"", "'NaN'", "'1_0'", "'%'", "X'616263'",
    "X'FF'", "x'5'", "true", "false", "'true'", "'t'", "null", "cast(null as int)", "string(true)",
    "cast(5 as string)", "cast(date'2024-03-31' as string)", "cast('abcdef' as binary)",
    "cast(5.005 as decimal(9, 2))", "cast('5.005' as decimal(4, 2))", "cast(5.7 as int)",
    "cast(16777217 as float)", "cast(true as int)", "cast(0.1D as decimal(3, 2))", "int('5')",
    "cast('2024-3-31' as date)", "date'2024-03-31'", "date'2024-10-27'", "date'2024-03-31 01:30'",
    "timestamp'2024-03-31'", "timestamp'2024-03-31 02:30:00'", "timestamp'2024-03-31 03:15:00'",
    "timestamp'2024-03-31 00:00:00'", "timestamp'2024-10-27 02:30:00'",
    "timestamp'2024-03-31 00:30:00Z'", "timestamp'2024-10-27 02:30:00+01:00'",
    "timestamp_ntz'2024-03-31 02:30:00'", "timestamp_ntz'2024-10-27 02:30:00'",
    "timestamp_ltz'2024-10-27 01:30:00'", "cast(timestamp_ntz'2024-03-31 02:30:00' as date)",
    "cast(date'2024-03-31' as timestamp)", "cast('2024-03-31 02:30' as timestamp_ntz)",
    "'2024-03-31'", "'2024-3-31'", "'2024-03-31 02:30:00'", "'2024-10-27T02:30:00+01:00'",
    "'2024'", "date'+12024-01-01'", "'${nothing}'", "'$\\{nothing}'",
)  # fmt: skip
OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
SESSIONS: dict[str, dict[str, str]] = {
    "defaults": {},
    "berlin": {"spark.sql.session.timeZone": "Europe/Berlin"},
    "ansi off": {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Europe/Berlin"},
    "names": {"spark.sql.ansi.doubleQuotedIdentifiers": "true"},
    "raw texts": {"spark.sql.parser.escapedStringLiterals": "true"},
    "ntz": {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    "legacy": {
        "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
        "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "true",
    },
}  # fmt: skip
CASES = 140
ASKED = 60
ON_EVERY_VERSION = ("defaults", "raw texts")
BY_JOBS = ("defaults",)


def predicates(seed: str) -> list[str]:
    """All literals against a column each at least once, in comparisons, lists and ranges."""
    draw = random.Random(seed)
    made = []
    for number in range(CASES):
        column = draw.choice(list(COLUMNS))
        one, two = LITERALS[number % len(LITERALS)], draw.choice(LITERALS)
        made.append(
            draw.choice(
                [
                    f"{column} {draw.choice(OPERATORS)} {one}",
                    f"{column} {draw.choice(OPERATORS)} {one}",
                    f"{one} {draw.choice(OPERATORS)} {column}",
                    f"not {column} {draw.choice(OPERATORS)} {one}",
                    f"{column} in ({one}, {two})",
                    f"{column} not in ({one}, {two})",
                    f"{column} between {one} and {two}",
                    f"{column} like {one}",
                    f"{column} = {one} or {draw.choice(list(COLUMNS))} > {two}",
                    f"{column} in ({one})",
                ]
            )
        )
    return made


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Each row is a file of its own, so that pruning shows."""
    count = max(len(values) for _, values in COLUMNS.values())
    columns = {
        name: pa.array([*values, *[None] * (count - len(values) + 1)], kind)
        for name, (kind, values) in COLUMNS.items()
    }
    data = pa.table(columns).append_column("k", pa.array(range(count + 1), pa.int64()))
    made = ice.create_table(
        str(tmp_path_factory.mktemp("meaning") / "t"), data.schema, partition_by=["k"]
    )
    made.append(data)
    return made


def spark_answers(frame: Any, texts: list[str], by_jobs: bool) -> list[set[int] | None]:
    """Return the keys of the rows that Spark keeps for each text, None where it raises.

    By jobs, in generated code; or, where the driver has the rows, by Spark's optimiser, which
    interprets the same expressions at an eighth of the CPU. All are asked for at once; the list is
    halved where one of them raises.
    """
    if not texts:
        return []
    try:
        return list((by_a_job if by_jobs else by_the_optimiser)(frame, texts))
    except (PySparkException, Py4JError):  # not Spark's, rows it can't cast, a fault of its own
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        parts = texts[:half], texts[half:]
        return [kept for part in parts for kept in spark_answers(frame, part, by_jobs)]


def by_a_job(frame: Any, texts: list[str]) -> list[set[int]]:
    keys = [sf.collect_set(sf.when(sf.expr(text), sf.col("k"))) for text in texts]
    return [set(kept) for kept in frame.agg(*keys).collect()[0]]


def by_the_optimiser(frame: Any, texts: list[str]) -> list[set[int]]:
    rows = frame.select(*[sf.when(sf.expr(text), sf.col("k")) for text in texts]).collect()
    return [set(keys) - {None} for keys in zip(*rows, strict=True)]


READ_BY_US = [name for name in SESSIONS if name not in ("ntz", "legacy")]
READ_BY_SPARK_ALONE = ["ntz", "legacy"]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ON_EVERY_VERSION else pytest.mark.slow)
        for name in READ_BY_US
    ],
)
def test_predicates_select_the_same_rows_as_spark(spark: Any, table: Any, name: str) -> None:
    data = table.scan().to_arrow()
    frame = table.scan().to_df(spark).coalesce(1).cache()  # its types: a wall clock stays one
    rows = frame if name in BY_JOBS else spark.createDataFrame(frame.toArrow(), frame.schema)
    batch = data.combine_chunks().to_batches()[0]
    schema = table.schema()
    wrong, taken = [], 0
    with settings(spark, SESSIONS[name]):
        zone, dialect = spark.conf.get("spark.sql.session.timeZone"), session_dialect(spark)
        bounds = {}
        for text in predicates(name):
            with suppress(InvalidInputError):
                bounds[text] = bind(schema, parse_predicate(text, dialect), time_zone=zone)
        answers = spark_answers(rows, list(bounds), name in BY_JOBS)
        for (text, bound), answer in zip(bounds.items(), answers, strict=True):
            if answer is None:
                continue
            taken += 1
            mask = row_filter(bound, {each.field_id: (each.name,) for each in schema.fields})(batch)
            ours = set(batch.filter(mask).column("k").to_pylist())
            planned = table.scan(row_filter=text).plan_files()
            left = {task.partition[0] for task in planned}
            if ours != answer or not answer <= left:
                wrong.append((text, sorted(answer), sorted(ours), sorted(left)))
    frame.unpersist()
    assert not wrong, "\n".join(map(str, wrong))
    assert taken > 20


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) for n in READ_BY_SPARK_ALONE]
)
def test_predicates_that_depend_on_settings_are_left_to_spark(
    spark: Any, table: Any, name: str
) -> None:
    """The row filter refuses them, naming the setting; queries read all files that Spark keeps."""
    texts = predicates(name)[:ASKED]
    frame = table.scan().to_df(spark)
    rows = spark.createDataFrame(frame.toArrow(), frame.schema)
    wrong, taken = [], 0
    with settings(spark, SESSIONS[name]):
        dialect = session_dialect(spark)
        assert set(SESSIONS[name]) == set(dialect.changed)
        for text, answer in zip(texts, spark_answers(rows, texts, by_jobs=False), strict=True):
            with pytest.raises(InvalidInputError, match=re.escape(dialect.changed[0])):
                parse_predicate(text, dialect)
            if answer is None:
                continue
            taken += bool(answer)
            asked = plan_query(spark, f"SELECT k FROM `{table.location()}` WHERE {text}")
            (planned,) = (one.scan for one in asked.tables)
            left = {task.partition[0] for task in planned}
            if not answer <= left:
                wrong.append((text, sorted(answer), sorted(left)))
    assert not wrong, "\n".join(map(str, wrong))
    assert taken > 5
