"""Statements that make or replace a table write to the folder that they name themselves."""

from collections.abc import Iterator
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import UnsupportedError
from tests.s3_server import Objects, s3_server


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[Objects]:
    """A store with several buckets, and the catalog `chosen` in one of them."""
    with s3_server() as server:
        settings = {"type": "filesystem", "warehouse": "s3://own/w", **server.properties}
        for name, value in settings.items():
            variable = name.upper().replace(".", "__").replace("-", "_")
            monkeypatch.setenv(f"PYICEBERG_CATALOG__CHOSEN__{variable}", value)
        yield server


def data_buckets(server: Objects) -> set[str]:
    return {key.partition("/")[0] for key in server.stored if key.endswith(".parquet")}


def test_a_folder_that_a_statement_names_is_written_to_by_this_statement(
    spark: Any, objects: Objects
) -> None:
    def run(text: str) -> None:
        ice.sql(spark, text).collect()

    elsewhere = "TBLPROPERTIES ('write.data.path' = 's3://{}/files')"
    run("CREATE NAMESPACE IF NOT EXISTS chosen.d")
    run(f"CREATE TABLE chosen.d.t {elsewhere.format('first')} AS SELECT 1 AS id")
    assert data_buckets(objects) == {"first"}
    run(f"REPLACE TABLE chosen.d.t {elsewhere.format('second')} AS SELECT 2 AS id")
    assert data_buckets(objects) == {"first", "second"}
    before = dict(objects.stored)
    with pytest.raises(UnsupportedError, match=r"s3://second.*write\.data\.path.*s3://own"):
        run("INSERT INTO chosen.d.t SELECT 3")
    assert objects.stored == before
    assert ice.load_table("chosen.d.t").scan().to_arrow()["id"].to_pylist() == [2]
