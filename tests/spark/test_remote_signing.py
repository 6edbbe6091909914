"""Spark reads and writes tables in S3 whose catalog signs each request of its tasks."""

from collections.abc import Iterator
from typing import Any

import pytest

import iceberg_spark as ice
from tests.servers.s3_servers import versitygw_server
from tests.servers.signer import SigningCatalog, signing_catalog

pytestmark = pytest.mark.xdist_group("signing")


@pytest.fixture(scope="module")
def signing() -> Iterator[SigningCatalog]:
    with (
        versitygw_server() as store,
        signing_catalog(store, **{"s3.signer.endpoint": "v1/aws/s3/sign"}) as catalog,
    ):
        yield catalog


def test_tasks_write_and_read_without_keys(signing: SigningCatalog, any_spark: Any) -> None:
    options = {"type": "rest", "uri": signing.uri}
    catalog = ice.load_catalog("signed", **options)
    name = f"t{type(any_spark).__module__.count('connect')}"
    table = catalog.create_table(f"db.{name}", "id bigint, s string")
    frame = any_spark.range(100).selectExpr("id", "CAST(id AS STRING) AS s")
    table.append(frame.repartition(3))
    table.delete("id < 10")
    read = table.scan("id >= 5").to_df(any_spark)
    assert read.count() == 90 and read.agg({"id": "max"}).collect()[0][0] == 99
    lines = table.scan().explain()
    assert "native" not in lines
    for key, value in options.items():
        any_spark.conf.set(f"spark.sql.catalog.signed.{key}", value)
    ice.enable(any_spark)
    try:
        found = any_spark.sql(f"SELECT max(id), count(*) FROM signed.db.{name} WHERE id < 50")
        assert tuple(found.collect()[0]) == (49, 40)
        any_spark.sql(f"INSERT INTO signed.db.{name} VALUES (500, 'x')")
        assert any_spark.read.format("pyiceberg-lite").load(f"signed.db.{name}").count() == 91
    finally:
        ice.disable(any_spark)
        for key in options:
            any_spark.conf.unset(f"spark.sql.catalog.signed.{key}")
