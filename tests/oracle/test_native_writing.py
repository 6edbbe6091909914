"""What Spark's own writer made for us, Java, PyIceberg and DuckDB read, and Java goes on with."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.session.engine import Engine
from tests.oracle import duckdb_reader, rows
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import data_files, frame, identifier, load, location, read
from tests.oracle.product import read_both

COLUMNS = rows.SCHEMA.names[:14]  # all but the lists and maps, which Spark gives no field ids
SPECS = {
    "unpartitioned": [],
    "identity": ["s", "flag", "dec18"],
    "calendar": ["months(ts)", "days(tsn)", "years(dt)"],
    "hashed": ["bucket(4, id)", "bucket(3, s)", "truncate(2, s)", "truncate(10, dec9)"],
}


def sample(start: int, stop: int) -> pa.Table:
    return rows.table(start, stop).select(COLUMNS)


def written(spark: SparkSession, name: str, spec: list[str], engine: Engine) -> str:
    path = location(spark, name)
    table = ice.create_table(path, rows.SCHEMA, partition_by=spec)
    with table.update_schema() as update:
        for column in rows.SCHEMA.names[14:]:
            update.delete_column(column)
    table.append(frame(spark, sample(0, 30)).repartition(2), engine=engine)
    return path


@pytest.mark.parametrize("name", SPECS)
def test_every_column_type_is_read_back(java: SparkSession, name: str) -> None:
    table = f"native_{name}"
    path = written(java, table, SPECS[name], "native")
    assert_same_rows(sample(0, 30), read(java, path), what="Java")
    assert_same_rows(sample(0, 30), read_both(java, path), what="both engines")
    assert_same_rows(sample(0, 30), duckdb_reader.read(path), what="DuckDB")
    by_java = java.read.format("iceberg").load(path).where("i > 2000").select("id").toArrow()
    known = frame(java, sample(0, 30)).where("i > 2000").select("id").toArrow()
    assert_same_rows(known, by_java, what="Java's filtered scan, by our bounds")
    frame(java, sample(60, 64)).writeTo(identifier(table)).option("fanout-enabled", "true").append()
    expected = pa.concat_tables([sample(0, 30), sample(60, 64)])
    assert_same_rows(expected, read_both(java, path), what="after Java's append")


def test_java_finds_the_partitions_of_the_arrow_writer(java: SparkSession) -> None:
    for name, spec in SPECS.items():
        found = []
        for engine in ("native", "arrow"):
            table = f"twin_{name}_{engine}"
            written(java, table, spec, engine)
            files = data_files(load(java, table))
            found.append({str(file.partition()) for file in files})
        assert found[0] == found[1]
