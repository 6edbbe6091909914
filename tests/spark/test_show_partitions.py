"""SHOW PARTITIONS lists the partitions that have rows, written as paths are."""

from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError, UnsupportedError


def shown(spark: Any, text: str) -> list[str]:
    frame = ice.sql(spark, text)
    assert frame.columns == ["partition"]
    return [row[0] for row in frame.collect()]


@pytest.fixture
def events(spark: Any, sql_home: Path) -> str:
    ice.sql(
        spark,
        "CREATE TABLE st.d.events (id int, day timestamp_ntz, kind string) "
        "PARTITIONED BY (months(day), kind)",
    )
    ice.sql(
        spark,
        """INSERT INTO st.d.events VALUES (1, TIMESTAMP_NTZ '2024-01-05 00:00:00', 'a b'),
           (2, TIMESTAMP_NTZ '2024-01-06 00:00:00', 'a b'), (3, NULL, 'null'),
           (4, TIMESTAMP_NTZ '2024-02-01 00:00:00', NULL)""",
    )
    return "st.d.events"


def test_each_partition_is_shown_once_in_the_order_of_the_texts(spark: Any, events: str) -> None:
    assert shown(spark, f"SHOW PARTITIONS {events}") == [
        "day_month=2024-01/kind=a+b",
        "day_month=2024-02/kind=null",
        "day_month=null/kind=null",
    ]


def test_values_of_partition_are_those_of_the_fields(spark: Any, events: str) -> None:
    show = f"SHOW PARTITIONS {events} PARTITION "
    assert shown(spark, show + "(KIND = 'a b')") == ["day_month=2024-01/kind=a+b"]
    assert shown(spark, show + "(day_month = '2024-02')") == ["day_month=2024-02/kind=null"]
    assert shown(spark, show + "(day_month = '2024-02', kind = 'a b')") == []


def test_null_in_partition_is_not_the_text_null(spark: Any, events: str) -> None:
    show = f"SHOW PARTITIONS {events} PARTITION "
    assert shown(spark, show + "(kind = NULL)") == ["day_month=2024-02/kind=null"]
    assert shown(spark, show + "(kind = 'null')") == ["day_month=null/kind=null"]


KINDS = (
    ("double", "1.5D", "1.5"),
    ("float", "float('NaN')", "NaN"),
    ("decimal(9,2)", "1.5", "1.50"),
    ("date", "'2024-03-01'", "2024-03-01"),
    ("timestamp", "'2024-03-01 02:00:00+02:00'", "2024-03-01T00%3A00%3A00%2B00%3A00"),
    ("binary", "X'0102'", "AQI%3D"),
    ("boolean", "true", "true"),
)


def test_values_of_every_type_are_found(spark: Any, sql_home: Path) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, (kind, _, _) in enumerate(KINDS))
    by = ", ".join(f"c{at}" for at in range(len(KINDS)))
    ice.sql(spark, f"CREATE TABLE st.d.t (id int, {columns}) PARTITIONED BY ({by})")
    values = ", ".join(f"CAST({value} AS {kind})" for kind, value, _ in KINDS)
    nulls = ", ".join(f"CAST(NULL AS {kind})" for kind, _, _ in KINDS)
    ice.sql(spark, f"INSERT INTO st.d.t SELECT 1, {values} UNION ALL SELECT 2, {nulls}")
    every = "/".join(f"c{at}={text}" for at, (_, _, text) in enumerate(KINDS))
    for at, (_, value, _) in enumerate(KINDS):
        assert shown(spark, f"SHOW PARTITIONS st.d.t PARTITION (c{at} = {value})") == [every]
    assert len(shown(spark, "SHOW PARTITIONS st.d.t")) == 2


def test_files_of_a_former_spec_are_shown_by_it(spark: Any, events: str) -> None:
    ice.sql(spark, f"ALTER TABLE {events} DROP PARTITION FIELD kind")
    ice.sql(spark, f"INSERT INTO {events} VALUES (5, TIMESTAMP_NTZ '2024-03-01 00:00:00', 'c')")
    assert shown(spark, f"SHOW PARTITIONS {events}") == [
        "day_month=2024-01/kind=a+b",
        "day_month=2024-02/kind=null",
        "day_month=2024-03",
        "day_month=null/kind=null",
    ]


def test_files_from_before_the_first_partition_field_have_no_text(
    spark: Any, sql_home: Path
) -> None:
    ice.sql(spark, "CREATE TABLE st.d.late (id int)")
    ice.sql(spark, "INSERT INTO st.d.late VALUES (1)")
    ice.sql(spark, "ALTER TABLE st.d.late ADD PARTITION FIELD bucket(4, id)")
    ice.sql(spark, "INSERT INTO st.d.late VALUES (1)")
    assert shown(spark, "SHOW PARTITIONS st.d.late")[0] == ""
    assert len(shown(spark, "SHOW PARTITIONS st.d.late")) == 2


def test_a_partition_whose_rows_are_gone_is_not_shown(spark: Any, events: str) -> None:
    ice.sql(spark, f"DELETE FROM {events} WHERE kind = 'a b'")
    assert shown(spark, f"SHOW PARTITIONS {events}") == [
        "day_month=2024-02/kind=null",
        "day_month=null/kind=null",
    ]


def test_a_branch_has_partitions_of_its_own(spark: Any, events: str) -> None:
    ice.sql(spark, f"ALTER TABLE {events} CREATE BRANCH audit")
    ice.sql(spark, f"INSERT INTO {events}.branch_audit VALUES (6, NULL, 'z')")
    added = set(shown(spark, f"SHOW PARTITIONS {events}.branch_audit")) - set(
        shown(spark, f"SHOW PARTITIONS {events}")
    )
    assert added == {"day_month=null/kind=z"}


def test_what_is_not_partitioned_is_refused(spark: Any, sql_home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.plain (id int)")
    with pytest.raises(UnsupportedError, match=r"st\.d\.plain is not partitioned"):
        ice.sql(spark, "SHOW PARTITIONS st.d.plain")


@pytest.mark.parametrize("values", ["(nothing = 1)", "(kind)", "(day = '2024-01-01')"])
def test_names_that_are_no_partition_fields_are_refused(
    spark: Any, events: str, values: str
) -> None:
    with pytest.raises(InvalidInputError, match="PARTITION"):
        ice.sql(spark, f"SHOW PARTITIONS {events} PARTITION {values}")


def test_an_empty_table_has_none(spark: Any, sql_home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.empty (id int, p int) PARTITIONED BY (p)")
    assert shown(spark, "SHOW PARTITIONS st.d.empty") == []


def test_fields_of_two_specs_that_are_null_are_two_partitions(spark: Any, sql_home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.n (id int, kind string) PARTITIONED BY (kind)")
    ice.sql(spark, "INSERT INTO st.d.n VALUES (1, NULL)")
    ice.sql(spark, "ALTER TABLE st.d.n REPLACE PARTITION FIELD kind WITH id")
    ice.sql(spark, "INSERT INTO st.d.n VALUES (NULL, 'x')")
    assert shown(spark, "SHOW PARTITIONS st.d.n") == ["id=null", "kind=null"]


def test_the_case_of_names_counts_where_the_session_says_so(spark: Any, events: str) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(InvalidInputError, match=r"PARTITION \(KIND\)"):
            ice.sql(spark, f"SHOW PARTITIONS {events} PARTITION (KIND = 'a b')")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


PAIR = "(id int, kind string) PARTITIONED BY (id, kind)"


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_value_that_is_none_of_the_columns_type_is_refused(
    spark: Any, sql_home: Path, ansi: str
) -> None:
    """As Java does, by any setting: rows had gone to the partitions NULL and 3."""
    ice.sql(spark, f"CREATE TABLE st.d.p {PAIR}")
    ice.sql(spark, "INSERT INTO st.d.p VALUES (NULL, 'kept'), (3, 'kept')")
    kept = ice.load_table("st.d.p").current_snapshot()
    statements = [
        statement.format(value)
        for value in ("'abc'", "4294967299", "3.7", "date'2024-01-01'")
        for statement in (
            "SHOW PARTITIONS st.d.p PARTITION (id = {})",
            "INSERT INTO st.d.p PARTITION (id = {}) SELECT 'lost'",
            "INSERT OVERWRITE st.d.p PARTITION (id = {}) SELECT 'lost'",
        )
    ]
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for statement in statements:
            with pytest.raises(InvalidInputError, match=r"PARTITION \(id\)"):
                ice.sql(spark, statement)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert ice.load_table("st.d.p").current_snapshot() == kept


@pytest.mark.parametrize("other", ["kind", "KIND"])
def test_a_name_that_is_given_twice_is_refused(spark: Any, sql_home: Path, other: str) -> None:
    ice.sql(spark, f"CREATE TABLE st.d.p {PAIR}")
    twice = f"PARTITION (kind = 'a', {other} = 'b')"
    for statement in (f"SHOW PARTITIONS st.d.p {twice}", f"INSERT INTO st.d.p {twice} SELECT 1"):
        with pytest.raises(InvalidInputError, match="given twice"):
            ice.sql(spark, statement)
    assert ice.load_table("st.d.p").current_snapshot() is None


def test_partitions_beyond_the_years_of_python_are_written_and_found(
    spark: Any, sql_home: Path
) -> None:
    ice.sql(spark, "CREATE TABLE st.d.far (id int, day date) PARTITIONED BY (day)")
    ice.sql(spark, "INSERT INTO st.d.far VALUES (1, DATE'+12000-01-01'), (2, DATE'2024-01-01')")
    asked = "SHOW PARTITIONS st.d.far PARTITION (day = DATE'+12000-01-01')"
    assert shown(spark, asked) == ["day=12000-01-01"]
    assert ice.sql(spark, "SELECT id FROM st.d.far WHERE day > DATE'9999-12-31'").collect() == [
        (1,)
    ]
