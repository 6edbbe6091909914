"""A process of its own with Spark as a user has it: without a setting of ours.

    python -m tests.spark.usual_session FOLDER

Prints one JSON object: what each verb left, as sorted rows.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table

MODES = ("copy-on-write", "merge-on-read")


def rows(table: Table) -> list[list[Any]]:
    found = ice.load_table(table.location()).scan().to_arrow()
    return sorted([row["id"], row["v"]] for row in found.to_pylist())


def made(location: str, mode: str) -> Table:
    properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    columns = "id bigint, v string, day date"
    return ice.create_table(
        location, columns, partition_by=["bucket(3, id)", "months(day)"], properties=properties
    )


def steps(spark: SparkSession, table: Table) -> dict[str, Callable[[], object]]:
    """The verbs by name, each on what the one before left."""

    def frame(first: int, last: int, value: str) -> Any:
        text = f"cast('{value}' as string) v"
        return spark.range(first, last).selectExpr("id", text, "date'2024-01-01' day")

    def merge(source: Any) -> object:
        merge = table.merge(source, "t.id = s.id").when_matched_update({"v": "s.v"})
        return merge.when_not_matched_insert_all().execute()

    def changes() -> Any:
        return frame(6, 8, "upserted").selectExpr("*", "'U' as _op")

    return {
        "append": lambda: table.append(frame(0, 6, "a")),
        "delete": lambda: table.delete("id % 5 = 1 or upper(v) = 'NONE'"),
        "update": lambda: table.update({"v": "concat(v, '!')"}, where="id = 2"),
        "merge": lambda: merge(frame(3, 7, "merged")),
        "upsert": lambda: table.upsert(changes(), keys=["id", "day"]),
        "overwrite": lambda: table.overwrite(frame(0, 1, "whole"), overwrite_filter="id = 0"),
        "dynamic": lambda: table.dynamic_partition_overwrite(frame(10, 11, "dynamic")),
        "arrow": lambda: table.append(pa.table({"id": [20], "v": ["arrow"]})),
        "save": lambda: (
            frame(30, 31, "saved")
            .write.format("pyiceberg-lite")
            .mode("append")
            .save(table.location())
        ),
    }


def main(folder: str) -> None:
    session = SparkSession.builder.master("local[2]").getOrCreate()
    found: dict[str, Any] = {}
    for mode in MODES:
        table = made(f"{folder}/{mode}", mode)
        found[mode] = left = {}
        for name, step in steps(session, table).items():
            step()
            left[name] = rows(table)
        loaded = session.read.format("pyiceberg-lite").load(table.location()).select("id", "v")
        native = table.refresh().scan().to_df(session).select("id", "v")
        for name, frame in {"plain": loaded, "native": native}.items():
            left[name] = sorted([row.id, row.v] for row in frame.collect())
    print(json.dumps(found))
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
