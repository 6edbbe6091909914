"""The sessions that the other Spark tests stand on."""

import sys

import pyarrow as pa


def executable_of_the_worker(batches):
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"python": [sys.executable]})


def test_workers_use_the_python_of_the_driver(any_spark):
    frame = any_spark.range(1).mapInArrow(executable_of_the_worker, "python string")
    assert {row.python for row in frame.collect()} == {sys.executable}


def test_settings_come_from_the_conf_folder(any_spark):
    assert any_spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_classic_and_connect_live_side_by_side(spark, connect_session):
    assert type(spark) is not type(connect_session)
    assert spark.range(3).count() == connect_session.range(3).count() == 3
