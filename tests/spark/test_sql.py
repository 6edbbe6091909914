"""`sql(spark, "select ...")` over tables of ours, on classic sessions and over Connect."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError, NoSuchTableError
from iceberg_spark.spark.sql.constants import fold_constants
from iceberg_spark.spark.sql.query import plan_query
from tests.spark.settings import settings

DAYS = [date(1994, 1, 1) + timedelta(days=30 * n) for n in range(12)]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("w")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYICEBERG_CATALOG__SQLTEST__TYPE", "filesystem")
        patch.setenv("PYICEBERG_CATALOG__SQLTEST__WAREHOUSE", str(folder))
        _line_items(folder / "db" / "lineitem")
        _parts(folder / "db" / "part")
        yield folder


def _line_items(path: Path) -> None:
    """One file for each ship date, as TPC-H's lineitem has them after loading by day."""
    table = ice.create_table(
        str(path),
        "l_partkey bigint, l_shipdate date, l_discount decimal(4,2), l_quantity int, l_flag string",
        partition_by=["l_shipdate"],
    )
    days = [day for day in DAYS for _ in range(2)]
    table.append(
        pa.table(
            {
                "l_partkey": pa.array(range(24), pa.int64()),
                "l_shipdate": days,
                "l_discount": pa.array(
                    [Decimal(n % 10) / 100 for n in range(24)], pa.decimal128(4, 2)
                ),
                "l_quantity": pa.array([n * 2 for n in range(24)], pa.int32()),
                "l_flag": [f"f{{{n % 2}}}" for n in range(24)],
            }
        )
    )
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "loaded").commit()


def _parts(path: Path) -> None:
    table = ice.create_table(str(path), "p_partkey bigint, p_type string", partition_by=["p_type"])
    keys = list(range(24))
    table.append(pa.table({"p_partkey": keys, "p_type": [f"T{n % 3}" for n in keys]}))


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def files(spark: Any, query: str) -> dict[str, int]:
    return {one.reference.parts[-1]: len(one.scan) for one in plan_query(spark, query).tables}


Q1 = """
    select l_flag, sum(l_quantity) as q, count(*) as c from sqltest.db.lineitem
    where l_shipdate <= date '1994-12-01' - interval '90' day group by l_flag
"""
Q3 = """
    select l_partkey, p_type from sqltest.db.lineitem, sqltest.db.part
    where l_partkey = p_partkey and p_type = 'T1' and l_shipdate > date '1994-06-15'
"""
Q6 = """
    select sum(l_quantity) from sqltest.db.lineitem
    where l_shipdate >= date '1994-03-01' and l_shipdate < date '1994-03-01' + interval '3' month
      and l_discount between 0.06 - 0.01 and 0.06 + 0.01 and l_quantity < 24
"""
Q14 = """
    select 100.00 * sum(case when p_type like 'T1%' then l_quantity else 0 end) / sum(l_quantity)
    from sqltest.db.lineitem, sqltest.db.part
    where l_partkey = p_partkey and l_shipdate >= date '1994-09-01'
      and l_shipdate < date '1994-09-01' + interval '1' month
"""


@pytest.mark.parametrize(
    ("query", "planned"),
    [
        (Q1, {"lineitem": sum(day <= date(1994, 9, 2) for day in DAYS)}),
        (Q3, {"lineitem": sum(day > date(1994, 6, 15) for day in DAYS), "part": 1}),
        (Q6, {"lineitem": 2}),  # of four days in the range, two have rows with the discount
        (Q14, {"lineitem": 1, "part": 3}),
    ],
    ids=["q1", "q3", "q6", "q14"],
)
def test_queries_of_tpc_h_prune_files_and_give_spark_s_rows(
    spark: Any, warehouse: Path, query: str, planned: dict[str, int]
) -> None:
    found = files(spark, query)
    assert found == planned
    for name in ("lineitem", "part"):
        location = warehouse / "db" / name
        frame = spark.read.format("pyiceberg-lite").load(str(location))
        frame.createOrReplaceTempView(f"plain_{name}")
    plain = query.replace("sqltest.db.", "plain_")
    assert rows(ice.sql(spark, query)) == rows(spark.sql(plain))


def test_a_query_joins_iceberg_tables_with_spark_tables(any_spark: Any, warehouse: Path) -> None:
    any_spark.range(3).createOrReplaceTempView("few")
    query = f"""
        with x as (select p_partkey, p_type from `{warehouse}/db/part` where p_type <> 'T0')
        select few.id, x.p_type, '{{braces}}' from few join x on x.p_partkey = few.id
    """
    expected = [(1, "T1", "{braces}"), (2, "T2", "{braces}")]
    assert rows(ice.sql(any_spark, query)) == expected
    table = f"`pyiceberg-lite`.`{warehouse}/db/part`"
    query = f"select id from few where id in (select p_partkey from {table})"
    assert rows(ice.sql(any_spark, query)) == [(0,), (1,), (2,)]


def test_a_table_keeps_its_name_for_qualified_columns(any_spark: Any, warehouse: Path) -> None:
    query = "select part.p_type from sqltest.db.part where part.p_partkey = 5"
    assert rows(ice.sql(any_spark, query)) == [("T2",)]


def test_parameters_go_to_spark(any_spark: Any, warehouse: Path) -> None:
    frame = ice.sql(
        any_spark, "select p_type from sqltest.db.part where p_partkey = :key", {"key": 4}
    )
    assert rows(frame) == [("T1",)]


@pytest.mark.parametrize("how", ["version as of 'loaded'", "for version as of {id}"])
def test_version_as_of(any_spark: Any, warehouse: Path, how: str) -> None:
    table = ice.load_table("sqltest.db.lineitem")
    first = table.refs()["loaded"].snapshot_id
    query = f"select count(*) from sqltest.db.lineitem {how.format(id=first)} l"
    assert rows(ice.sql(any_spark, query)) == [(24,)]


def test_timestamp_as_of_is_worked_out_by_spark(any_spark: Any, warehouse: Path) -> None:
    query = "select count(*) from sqltest.db.lineitem timestamp as of date_add(current_date(), 1)"
    assert rows(ice.sql(any_spark, query)) == [(24,)]


def test_constant_parts_of_conditions_are_spark_s_values(any_spark: Any) -> None:
    """Days that Python's calendar lacks, instants and floats among them."""
    values = {
        "1999 + 1": "CAST(2000 AS INT)",
        "-(2 + 1)": "CAST(-3 AS INT)",
        "1L + 1": "CAST(2 AS BIGINT)",
        "date '1998-12-01' - interval '90' day": "CAST('1998-09-02' AS DATE)",
        "date '9999-12-31' + interval '1' day": "CAST('+10000-01-01' AS DATE)",
        "2 * 1.25": "CAST(2.50 AS DECIMAL(5, 2))",
        "CAST(2.5 AS double) * 2": "CAST('5.0' AS DOUBLE)",
        "date '2024-06-30' - interval 1 year 6 months": "CAST('2022-12-30' AS DATE)",
        "7 - (3 - 2) - 1": "CAST(5 AS INT)",
    }
    for text, value in values.items():
        (found,) = fold_constants([parse_one(f"a = {text}", dialect="spark")], any_spark)
        assert found.sql("spark") == f"a = {value}", text


@pytest.mark.parametrize(
    "text",
    [
        "DATE 'today' - INTERVAL 7 DAYS",
        "CAST('now' AS timestamp) - INTERVAL 1 HOUR",
        "CAST('12:30' AS timestamp) + INTERVAL 1 HOUR",
    ],
)
def test_what_is_another_moment_tomorrow_is_no_constant(any_spark: Any, text: str) -> None:
    """As a CAST `today` is NULL without ANSI: no file would be read."""
    (found,) = fold_constants([parse_one(f"a = {text}", dialect="spark")], any_spark)
    assert isinstance(found.expression, exp.Sub | exp.Add)


def test_constants_are_evaluated_again_after_a_setting_changes(spark: Any) -> None:
    condition = parse_one(
        "a = timestamp '2024-01-01 00:00:00' + interval '1' hour", dialect="spark"
    )
    found = []
    for zone in ("UTC", "Asia/Tokyo", "UTC"):
        with settings(spark, {"spark.sql.session.timeZone": zone}):
            (one,) = fold_constants([condition], spark)
            found.append(one.sql("spark"))
    assert "2024-01-01T01:00:00" in found[0]
    assert "2023-12-31T16:00:00" in found[1]
    assert found[2] == found[0]


def test_a_query_asks_its_conditions_once(spark: Any, warehouse: Path) -> None:
    frame = ice.sql(spark, "select * from sqltest.db.lineitem where l_quantity > 10")
    assert frame._jdf.queryExecution().analyzed().toString().count("Filter") == 1
    assert frame.count() == 18


def test_branches_and_tags_stand_behind_the_name(any_spark: Any, warehouse: Path) -> None:
    for name in ("tag_loaded", "branch_main"):
        query = f"select count(*) from sqltest.db.lineitem.{name}"
        assert rows(ice.sql(any_spark, query)) == [(24,)]


def test_metadata_tables_and_folders_with_a_number_sign(any_spark: Any, tmp_path: Path) -> None:
    place = tmp_path / "a#b" / "t"
    _parts(place)
    count = f"select count(*) from `{place}"
    assert rows(ice.sql(any_spark, f"{count}`")) == [(24,)]
    assert rows(ice.sql(any_spark, f"{count}#snapshots`")) == [(1,)]
    assert "a metadata table" in ice.explain(any_spark, f"{count}#snapshots`")


def test_explain_names_what_prunes_and_what_does_not(spark: Any, warehouse: Path) -> None:
    query = """
        select 1 from sqltest.db.lineitem l
        where l_shipdate = date '1994-01-01' and l_quantity % 2 = 0
          and l_partkey in (select p_partkey from sqltest.db.part)
    """
    text = ice.explain(spark, query)
    assert "pruned by  l_shipdate = CAST('1994-01-01' AS DATE)" in text
    assert "prunes nothing  l_quantity % 2 = 0" in text
    assert "prunes nothing  l_partkey IN (SELECT" in text
    assert "sqltest.db.part:" in text
    assert "file pruning in the optimizer: on, " in text
    assert ice.explain(spark, "select 1") == "The query names no Iceberg table."


def test_a_query_without_iceberg_tables_goes_to_spark(any_spark: Any) -> None:
    assert rows(ice.sql(any_spark, "select 1 as one, '{x}'")) == [(1, "{x}")]


def test_bad_queries_are_named(spark: Any, warehouse: Path) -> None:
    with pytest.raises(NoSuchTableError):
        ice.sql(spark, "select * from sqltest.db.nothing")
    with pytest.raises(NoSuchTableError):
        ice.sql(spark, "delete from sqltest.db.nothing")
    with pytest.raises(InvalidInputError, match="VERSION AS OF"):
        ice.sql(spark, "select * from sqltest.db.part version as of 1 + 1")


def test_ambiguous_names_are_left_to_spark(spark: Any, warehouse: Path) -> None:
    query = "select p_type from sqltest.db.part a join sqltest.db.part b using (p_partkey)"
    with pytest.raises(Exception, match="AMBIGUOUS"):
        ice.sql(spark, query)


@pytest.mark.parametrize(
    "query",
    [
        "with a as (select p_partkey k from sqltest.db.part) select k from a where k < 3",
        (
            "select x.p_partkey from sqltest.db.part x join sqltest.db.part y using (p_partkey) "
            "where p_partkey < 3"
        ),
        (
            "select p_partkey from sqltest.db.part where p_partkey < 3 and p_partkey in "
            "(select l_partkey from sqltest.db.lineitem where l_partkey = part.p_partkey)"
        ),
        (
            "with recursive r as (select 0 k union all select k + 1 from r where k + 1 in "
            "(select p_partkey from sqltest.db.part where p_partkey < 3)) select k from r"
        ),
        (
            "select p_partkey from sqltest.db.part, lateral (select max(l_partkey) m from "
            "sqltest.db.lineitem where l_partkey = p_partkey) where m < 3"
        ),
        (
            "with iceberg_spark_table_0 as (select 2 m) select p_partkey from sqltest.db.part, "
            "iceberg_spark_table_0 where p_partkey <= m"
        ),
    ],
)
def test_tables_stand_wherever_a_query_has_them(spark: Any, warehouse: Path, query: str) -> None:
    assert rows(ice.sql(spark, query)) == [(0,), (1,), (2,)]


def test_a_query_is_read_by_its_sessions_settings_and_leaves_the_active_one(
    spark: Any, warehouse: Path
) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    active = type(spark).getActiveSession()._jsparkSession.sessionUUID()
    query = 'select "p_type" from sqltest.db.part where p_partkey = 1'
    assert rows(ice.sql(other, query)) == [("T1",)]
    assert rows(ice.sql(spark, query)) == [("p_type",)]
    assert type(spark).getActiveSession()._jsparkSession.sessionUUID() == active
    assert ice.sql(other, query).sparkSession is other


def test_a_frame_of_a_query_is_the_types_and_nothing_of_its_files(
    spark: Any, warehouse: Path
) -> None:
    frame = ice.sql(spark, "select * from sqltest.db.part")
    assert [(f.name, f.nullable, f.metadata) for f in frame.schema.fields] == [
        ("p_partkey", True, {}),
        ("p_type", True, {}),
    ]
