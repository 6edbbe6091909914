"""Flights in a table of a REST catalog on S3, both started here, with PySpark and no JAR.

The catalog's server is Iceberg's own reference, in Java; S3 is moto. Both end with this program.
Creates a namespace and a table by name, writes frames, changes rows, changes two tables in one
commit, and reads through `spark.read`, SQL and metadata tables.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

import iceberg_spark as ice
from demo.flights import COLUMNS, flights, say
from tests.servers.rest_server import rest_server
from tests.servers.s3_servers import moto_server

CATALOG = "lake"
FORMAT = "pyiceberg-lite"


@contextmanager
def lake() -> Iterator[dict[str, str]]:
    """Start S3 and the catalog's server; gives the catalog's properties."""
    print("Starting S3 and the REST catalog (its jars are fetched once) ...", flush=True)
    with tempfile.TemporaryDirectory(prefix="lake-") as home, moto_server() as s3:
        keys = s3.properties
        own = {**keys, "s3.path-style-access": "true", "client.region": "us-east-1"}
        with rest_server(Path(home), ("s3://bucket/warehouse", own)) as server:
            yield {"type": "rest", "uri": server.uri, **keys}


def main() -> None:
    """Run the demo; nothing of it is left."""
    with lake() as properties:
        print("Starting Spark, which takes some seconds ...", flush=True)
        builder = SparkSession.builder.master("local[2]").appName("catalog")
        builder = builder.config("spark.sql.session.timeZone", "UTC")
        for key, value in properties.items():  # as for Java; a .pyiceberg.yaml does it as well
            builder = builder.config(f"spark.sql.catalog.{CATALOG}.{key}", value)
        spark = builder.getOrCreate()
        try:
            run(spark)
        finally:
            spark.stop()


def run(spark: SparkSession) -> None:
    """Show what a catalog can do, step by step."""
    ice.enable(spark)
    table = create()
    append(spark, table)
    change(table)
    change_two_tables(spark)
    read(spark)


def create() -> ice.Table:
    """Create a namespace and a table in it; the server says where it goes."""
    say("1. A namespace and a table by name: ice.load_catalog('lake').create_table('air.flights')")
    catalog = ice.load_catalog(CATALOG)
    catalog.create_namespace("air", {"owner": "demo"})
    table = catalog.create_table("air.flights", COLUMNS, partition_by=["months(time_hour)"])
    print(table)
    print(f"   namespaces {catalog.list_namespaces()}, tables {catalog.list_tables('air')}")
    return table


def append(spark: SparkSession, table: ice.Table) -> None:
    """Write a quarter as a frame."""
    say("2. Write a frame: df.write.format('pyiceberg-lite').save('lake.air.flights')")
    kinds = {field.name: str(field.field_type) for field in table.schema().fields}
    year = flights()
    frame = spark.createDataFrame(year.slice(0, 80_000).select(list(kinds))).select(
        *(F.col(name).cast("int") if kind == "int" else name for name, kind in kinds.items())
    )
    started = time.monotonic()
    frame.write.format(FORMAT).mode("append").save(f"{CATALOG}.air.flights")
    print(f"   80,000 flights in {time.monotonic() - started:.1f} s, on {table.location()}")


def change(table: ice.Table) -> None:
    """Delete rows, and evolve the schema."""
    say("3. Change rows and columns: t.delete(...), t.update_schema()")
    table.refresh()
    table.delete("carrier = 'HA'")
    table.update_schema().add_column("note", "string").commit()
    print(f"   {table.scan().count():,} flights are left; columns end with 'note'")


def change_two_tables(spark: SparkSession) -> None:
    """Land changes of two tables in one commit."""
    say("4. Two tables in one commit: with ice.transaction('lake') as tx: ...")
    catalog = ice.load_catalog(CATALOG)
    catalog.create_table("air.log", "what string, rows bigint")
    with ice.transaction(catalog) as tx:
        tx.load_table("air.flights").delete("dest = 'LEX'")
        log = spark.createDataFrame([("LEX removed", 1)], "what string, rows bigint")
        tx.load_table("air.log").append(log)
    print("   both landed:", catalog.load_table("air.log").scan().to_arrow().to_pylist())


def read(spark: SparkSession) -> None:
    """Read by name: as a frame, by SQL, and what the metadata says."""
    say("5. Read by name: spark.read...load('lake.air.flights'), ice.sql(spark, '...')")
    print(f"   {spark.read.format(FORMAT).load(f'{CATALOG}.air.flights').count():,} flights")
    ice.sql(
        spark,
        "SELECT f.origin, count(*) AS flights FROM lake.air.flights f "
        "WHERE f.time_hour < timestamp'2013-02-01' GROUP BY f.origin ORDER BY flights DESC",
    ).show()
    ice.sql(spark, "SELECT snapshot_id, operation FROM lake.air.flights.snapshots").show()


if __name__ == "__main__":
    main()
