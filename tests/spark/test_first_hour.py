"""What somebody new gets wrong with a session at hand; without one: tests/unit/api."""

import logging
from pathlib import Path

import pandas as pd
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.checkup.report import State
from iceberg_spark.errors import InvalidOptionError

FORMAT = "pyiceberg-lite"


@pytest.fixture
def connect_errors(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> pytest.LogCaptureFixture:
    """What Spark Connect's client would log, with a stack trace, where its log is switched on."""
    logger = logging.getLogger("pyspark.sql.connect.logging")
    monkeypatch.setattr(logger, "disabled", False)
    monkeypatch.setattr(logger, "handlers", [caplog.handler])
    return caplog


def test_the_doctor_examines_a_session(
    any_spark: SparkSession, connect_errors: pytest.LogCaptureFixture
):
    report = ice.doctor(any_spark)
    assert [record.getMessage() for record in connect_errors.records] == []
    found = {one.what: one for one in report.findings}
    asked = ("Spark", "Java", "Python of the workers", f"format('{FORMAT}')")
    assert {what: found[what].state for what in asked} == dict.fromkeys(asked, State.OK)
    assert "with iceberg_spark" in found["Python of the workers"].found


def test_the_doctor_tries_the_catalogs_of_a_session(spark: SparkSession, tmp_path: Path):
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.near.type", "hadoop")
    session.conf.set("spark.sql.catalog.near.warehouse", str(tmp_path))
    session.conf.set("spark.sql.catalog.far.type", "rest")
    session.conf.set("spark.sql.catalog.far.uri", "http://localhost:1")
    findings = {finding.what: finding for finding in ice.doctor(session).findings}
    assert findings["catalog near"].state is State.OK
    assert findings["store of near"].state is State.OK
    assert findings["catalog far"].state is State.WRONG
    assert findings["catalog far"].to_do == "look at spark.sql.catalog.far.*"


def test_a_save_over_files_of_others_and_with_another_layout_is_told(
    spark: SparkSession, tmp_path: Path
):
    frame = spark.range(2).selectExpr("id", "cast(id as string) as k")
    place = str(tmp_path / "parquet")
    frame.write.parquet(place)
    writer = frame.write.format(FORMAT).mode("append")
    with pytest.raises(Exception, match=r"a folder of Parquet files.*t\.add_files"):
        writer.save(place)
    writer.option("partition-by", "k").save(str(tmp_path / "t"))
    writer.option("partition-by", "K").save(str(tmp_path / "t"))
    with pytest.raises(Exception, match=r"partitioned by k: leave the option out"):
        writer.option("partition-by", "id").save(str(tmp_path / "t"))
    assert ice.load_table(tmp_path / "t").scan().count() == 4


def test_a_mode_or_layout_that_is_none_is_told_after_enable(spark: SparkSession, tmp_path: Path):
    ice.enable(spark)
    try:
        with pytest.raises(AnalysisException, match="Valid save modes"):  # Spark's own words
            spark.range(1).write.format(FORMAT).mode("upsert")
        with pytest.raises(InvalidOptionError, match=r"option\('partition-by', 'days\(id\)'\)"):
            spark.range(1).write.format(FORMAT).partitionBy("days(id)").save(str(tmp_path / "t"))
    finally:
        ice.disable(spark)


def test_a_pandas_frame_is_the_source_of_a_merge(spark: SparkSession, tmp_path: Path):
    table = ice.create_table(tmp_path / "t", "id bigint, v string")
    source = pd.DataFrame({"id": [1, 2], "v": ["a", "b"]})
    table.append(source.head(1).assign(v="old"))
    merge = table.merge(source, "t.id = s.id").when_matched_update_all()
    merge.when_not_matched_insert_all().execute()
    assert sorted(table.scan().to_arrow()["v"].to_pylist()) == ["a", "b"]
