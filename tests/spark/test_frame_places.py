"""Where the rows of a frame land: the table, branch and columns that were named, and no others."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.spark.catalyst.column_texts import column_text


@pytest.fixture
def enabled(any_spark: Any, sql_home: Path) -> Iterator[Any]:
    """A session that knows the catalogs of `sql_home`; both have a namespace `d`."""
    ice.load_catalog("fs").create_namespace("d")
    ice.enable(any_spark)
    yield any_spark
    ice.disable(any_spark)


def ids(frame: Any) -> list[Any]:
    return sorted((row[0] for row in frame.collect()), key=str)


def test_a_copy_that_is_named_by_its_location_is_what_is_written(
    enabled: Any, tmp_path: Path
) -> None:
    """Its metadata says where the original is."""
    original, copy = tmp_path / "original", tmp_path / "copy"
    ice.create_table(str(original), "id bigint")
    enabled.range(1).writeTo(f"`{original}`").append()
    shutil.copytree(original, copy)
    enabled.range(1, 2).writeTo(f"`{copy}`").append()
    enabled.range(2, 3).write.insertInto(f"`{copy}`")
    assert ids(enabled.table(f"`{copy}`")) == [0, 1, 2]
    assert ids(enabled.table(f"`{original}`")) == [0]
    enabled.range(5, 6).writeTo(f"`{copy}`").overwritePartitions()
    assert ids(enabled.table(f"`{copy}`")) == [5]


@pytest.mark.parametrize("catalog", ["st", "fs"])
def test_save_as_table_writes_to_the_branch_that_a_name_says(enabled: Any, catalog: str) -> None:
    name = f"{catalog}.d.t"
    enabled.range(1).writeTo(name).create()
    enabled.sql(f"ALTER TABLE {name} CREATE BRANCH audit")
    branch, more = f"{name}.branch_audit", enabled.range(1, 2)
    more.write.mode("append").saveAsTable(branch)
    assert (ids(enabled.table(name)), ids(enabled.table(branch))) == ([0], [0, 1])
    with pytest.raises(TableAlreadyExistsError):
        more.write.saveAsTable(branch)
    more.write.mode("ignore").saveAsTable(branch)
    with pytest.raises(UnsupportedError, match="whole tables"):
        more.write.mode("overwrite").saveAsTable(branch)
    with pytest.raises(UnsupportedError, match="can't be changed"):
        more.write.mode("append").saveAsTable(f"{name}.snapshots")
    assert ids(enabled.table(branch)) == [0, 1]
    assert ids(enabled.table(name)) == [0]


def test_no_table_is_made_that_would_hide_a_branch(enabled: Any, tmp_path: Path) -> None:
    enabled.range(1).writeTo("fs.d.t").create()
    for last in ("branch_new", "tag_new", "snapshot_id_5", "at_timestamp_5"):
        with pytest.raises(InvalidInputError, match="branch or version of the table"):
            enabled.sql(f"CREATE TABLE fs.d.t.{last} (id int)")
        with pytest.raises(InvalidInputError, match="branch or version of the table"):
            enabled.range(1).write.format("pyiceberg-lite").save(f"{tmp_path}/fs/d/t/{last}")
    enabled.sql("CREATE TABLE fs.d.branch_x (id int)")
    assert [one.name for one in enabled.catalog.listTables("fs.d")] == ["branch_x", "t"]


def test_a_name_and_an_option_say_one_branch(enabled: Any) -> None:
    enabled.range(1).writeTo("st.d.t").create()
    for branch in "ab":
        enabled.sql(f"ALTER TABLE st.d.t CREATE BRANCH {branch}")
    writer = enabled.range(1, 2).writeTo("st.d.t.branch_a")
    writer.option("branch", "a").append()
    for write in (
        lambda: writer.option("BRANCH", "b").append(),
        writer.overwritePartitions,
        lambda: writer.overwrite(sf.lit(True)),
    ):
        with pytest.raises(InvalidOptionError, match="has branch 'a'"):
            write()
    enabled.range(2, 3).writeTo("st.d.t").option("Branch", "b").append()
    found = [ids(enabled.table(f"st.d.t{end}")) for end in ("", ".branch_a", ".branch_b")]
    assert found == [[0], [0, 1], [0, 2]]


def test_columns_are_case_sensitive_if_the_session_is(enabled: Any) -> None:
    """A column that only another case would find is an error, and no column of NULLs."""
    enabled.sql("CREATE TABLE st.d.t (Id bigint, v string)")
    frame = enabled.range(1).selectExpr("id", "'x' AS V")
    frame.writeTo("st.d.t").append()
    enabled.conf.set("spark.sql.caseSensitive", "true")
    try:
        writer = frame.writeTo("st.d.t")
        for write in (
            writer.append,
            writer.overwritePartitions,
            lambda: writer.overwrite(sf.col("v") == "x"),
            lambda: frame.write.mode("append").saveAsTable("st.d.t"),
        ):
            with pytest.raises(InvalidSchemaError, match="no column 'id'"):
                write()
        enabled.sql("CREATE TABLE st.d.twins (id bigint, ID bigint)")
        twins = enabled.range(1).selectExpr("id", "id + 1 AS ID")
        with pytest.raises(InvalidSchemaError, match="no column 'V'"):
            frame.selectExpr("id AS Id", "V").writeTo("st.d.t").append()
        frame.selectExpr("7L AS Id", "V AS v").writeTo("st.d.t").append()
        enabled.range(1).writeTo("st.d.twins").append()
        twins.writeTo("st.d.twins").append()
        found = enabled.table("st.d.twins").selectExpr("id", "`ID` AS other").collect()
        assert sorted(map(tuple, found), key=str) == [(0, 1), (0, None)]
        enabled.sql("CREATE TABLE st.d.one (Id int)")
        enabled.range(1).writeTo("st.d.one").option("mergeSchema", "true").append()
        assert enabled.table("st.d.one").columns == ["Id", "id"]
        assert enabled.table("st.d.one").collect() == [(None, 0)]
    finally:
        enabled.conf.unset("spark.sql.caseSensitive")
    assert ids(enabled.table("st.d.t")) == [0, 7]
    with pytest.raises(InvalidSchemaError, match="differ by case only"):
        twins.writeTo("st.d.twins").append()


def test_a_column_is_one_whatever_its_name_is(enabled: Any) -> None:
    """A name may look like a number, a constant, a clock or a difference."""
    names = ["2024", "null", "true", "a-b", "current_date", "x`y", "it's"]
    columns = [sf.lit(number).alias(name) for number, name in enumerate(names)]
    frame = enabled.range(1).select("id", *columns)
    for number, name in enumerate(names):
        column = sf.col(f"`{name.replace('`', '``')}`")
        assert frame.where(column_text(enabled, column == number)).count() == 1, name
        if name.isalnum():
            assert frame.where(column_text(enabled, sf.col(name) == number)).count() == 1, name
    frame.writeTo("st.d.t").create()
    more = frame.withColumn("id", sf.lit(1).cast("bigint")).withColumn("2024", sf.lit(-5))
    more.writeTo("st.d.t").append()
    more.where("false").writeTo("st.d.t").overwrite(sf.col("2024") < 0)
    assert ids(enabled.table("st.d.t")) == [0]
    source = frame.withColumn("2024", sf.lit(99))
    merge = source.alias("s").mergeInto("st.d.t", sf.col("t.id") == sf.col("s.id"))
    merge.whenMatched().update({"a-b": sf.col("s.2024") + sf.col("s.true")}).merge()
    assert [row["a-b"] for row in enabled.table("st.d.t").collect()] == [101]


@pytest.mark.filterwarnings("ignore:.*escapedStringLiterals:UserWarning")
@pytest.mark.parametrize("raw", ["false", "true"])
def test_string_literals_and_try_casts_follow_the_session_settings(enabled: Any, raw: str) -> None:
    enabled.conf.set("spark.sql.parser.escapedStringLiterals", raw)
    try:
        texts = ["it's", "a\\b", "both ' and \"", "\\n", "plain", "C:\\", "D:\\\\"]
        frame = enabled.range(len(texts)).withColumn(
            "s", sf.array(*map(sf.lit, texts))[sf.col("id").cast("int")]
        )
        for number, text in enumerate(texts):
            found = frame.where(column_text(enabled, sf.col("s") == sf.lit(text)))
            assert ids(found) == [number], text
        tried = column_text(enabled, sf.col("s").try_cast("int").isNull())
        assert frame.where(tried).count() == len(texts)
    finally:
        enabled.conf.unset("spark.sql.parser.escapedStringLiterals")


def test_a_namespace_may_be_called_as_a_table(enabled: Any) -> None:
    """What stands behind a table's name is its part only where it is called like one."""
    enabled.sql("CREATE NAMESPACE st.d.t")
    enabled.range(1).writeTo("st.d.t").create()
    enabled.range(2).write.saveAsTable("st.d.t.fresh")
    enabled.range(2).write.mode("append").saveAsTable("st.d.t.fresh")
    assert ids(enabled.table("st.d.t.fresh")) == [0, 0, 1, 1]
    assert ids(enabled.table("st.d.t")) == [0]
