"""A process of its own that keeps Spark's event log: what it shows of secrets.

    python -m tests.spark.event_log FOLDER

Tables are read and written after `enable` with secrets in a catalog's configuration, in options
and in arguments; prints `explain` of the frames, leaves the event log in FOLDER/log. Log and plans
are the driver's own; each secret begins with SECRET.
"""

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import iceberg_spark as ice

SECRET = "hush-"
NAMES = (
    "s3.access-key-id", "s3.secret-access-key", "s3.session-token", "adls.account-key",
    "adls.connection-string", "adls.sas-token", "gcs.oauth2.token", "client.access-key-id",
    "credential",
)  # fmt: skip
FORMAT = "pyiceberg-lite"
MODES = ("extended", "formatted")
_HIDDEN = {name: f"{SECRET}{number}" for number, name in enumerate(NAMES)}
_STORAGE = {name: secret for name, secret in _HIDDEN.items() if "." in name}


def configure(warehouse: Path) -> None:
    """A catalog `mine` with every secret, in the environment."""
    os.environ["PYICEBERG_CATALOG__MINE__TYPE"] = "filesystem"
    os.environ["PYICEBERG_CATALOG__MINE__WAREHOUSE"] = str(warehouse)
    for name, secret in _HIDDEN.items():
        key = name.upper().replace(".", "__").replace("-", "_")
        os.environ[f"PYICEBERG_CATALOG__MINE__{key}"] = secret


def show(*frames: Any) -> None:
    for frame in frames:
        for mode in MODES:
            frame.explain(mode=mode)
        print(repr(frame))
        frame.collect()


def use(spark: SparkSession) -> None:
    """Every way in which a session reads and writes a table."""
    rows = spark.range(8).selectExpr("id", "cast(id % 2 as string) as k")
    for engine in ("native", "arrow"):
        writer = rows.write.format(FORMAT).mode("append").options(**_STORAGE)
        writer.option("engine", engine).option("partition-by", "k").save("mine.db.t")
    upsert = rows.where("id < 2").write.format(FORMAT).mode("append").option("write-mode", "upsert")
    upsert.option("equality-fields", "id,k").save("mine.db.t")
    plain = spark.read.format(FORMAT).schema("id bigint, k string")  # the source, not the hook
    show(
        spark.read.format(FORMAT).options(**_STORAGE).load("mine.db.t").where("id > 3"),
        spark.read.table("mine.db.t"),
        plain.load("mine.db.t").where("id > 3"),
        ice.load_table("mine.db.t", **_STORAGE).scan().to_df(spark, engine="arrow"),
        ice.sql(spark, "select k, count(*) from mine.db.t group by k"),
        spark.read.format(FORMAT).load("mine.db.t#files"),
    )
    table = ice.load_catalog("mine").load_table("db.t")
    merge = table.merge(rows, "t.id = s.id").when_matched_update_all()
    merge.when_not_matched_insert_all().execute()
    print(table, table.scan().explain(), table.io, table.inspect)


def main(folder: str) -> None:
    configure(Path(folder) / "warehouse")
    builder = SparkSession.builder.config("spark.eventLog.enabled", "true")
    builder = builder.config("spark.eventLog.dir", (Path(folder) / "log").as_uri())
    builder = builder.config("spark.eventLog.compress", "false")
    spark = builder.config("spark.log.level", "INFO").getOrCreate()
    ice.enable(spark)
    use(spark)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
