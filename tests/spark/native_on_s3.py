"""A process of its own: Spark's Parquet reader on S3, by `hadoop-aws`.

    python -m tests.spark.native_on_s3 ENDPOINT ACCESS SECRET JARS

Prints one JSON object a case: which engine reads, why, and the rows.
"""

import json
import sys
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import iceberg_spark as ice

S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"


def main(endpoint: str, access: str, secret: str, jars: str) -> None:
    """Read one table in sessions that have more and more of what Spark needs."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    own = {
        "s3.endpoint": endpoint,
        "s3.access-key-id": access,
        "s3.secret-access-key": secret,
        "s3.region": "us-east-1",
    }
    table = build("s3://bucket/native", own)
    settings = {
        "fs.s3.impl.disable.cache": "true",  # else the first one that works is kept
        "fs.s3a.impl.disable.cache": "true",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.endpoint": f"{endpoint}/",
        "fs.s3a.access.key": access,
        "fs.s3a.secret.key": secret,
        "fs.s3.impl": S3A,
    }
    show("nothing is set", table, spark)
    for key, value in settings.items():
        spark.conf.set(key, value)
        if key in ("fs.s3.impl", "fs.s3a.secret.key"):
            show(f"with {key}", table, spark)
    spark.conf.set("fs.s3a.access.key", "anothers")
    show("another key", table, spark)
    spark.conf.set("fs.s3a.bucket.bucket.access.key", access)
    show("the bucket's key", table, spark)
    spark.conf.set("fs.s3a.bucket.bucket.endpoint", "http://127.0.0.1:1")
    show("another server", table, spark)
    spark.conf.unset("fs.s3a.bucket.bucket.endpoint")
    show("as s3a", ice.load_table("s3a://bucket/native", **own), spark)


def build(location: str, own: dict[str, str]) -> ice.Table:
    """Three files; one has deleted rows by position, another a deleted key."""
    table = ice.create_table(
        location,
        "id bigint, s string",
        partition_by=["s"],
        properties={"write.delete.mode": "merge-on-read"},
        **own,
    )
    for part in ("a", "b c%20ü", "d"):
        table.append(pa.table({"id": pa.array(range(5), pa.int64()), "s": [part] * 5}))
    table.delete("id = 1 and s = 'a'")
    table.upsert(pa.table({"id": pa.array([2], pa.int64()), "s": ["d"]}), keys=["id", "s"])
    return table


def show(case: str, table: ice.Table, spark: SparkSession) -> None:
    """Print what a case gives."""
    scan = table.scan()
    lines = scan.explain().partition("on Spark")[2].partition("planned in")[0]
    frame = scan.to_df(spark)
    found: dict[str, Any] = {
        "case": case,
        "engines": [x.strip() for x in lines.splitlines() if x.strip()],
    }
    found["rows"] = sorted([row.s, row.id] for row in frame.collect())
    found["files"] = len(frame.inputFiles())
    asked = frame.where("id > 3").select("id").collect()
    found["filtered"] = len(asked)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:5])
