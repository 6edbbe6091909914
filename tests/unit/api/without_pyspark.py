"""A process of its own in which PySpark can't be imported: what the API does there.

    python -m tests.unit.api.without_pyspark FOLDER

Prints one JSON object.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa


class Blocker:
    """A finder that knows of no PySpark."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


sys.meta_path.insert(0, Blocker())

import iceberg_spark as ice  # noqa: E402 - the finder comes first
from iceberg_spark import Table  # noqa: E402
from iceberg_spark.errors import IcebergError  # noqa: E402


def ids(table: Table, **choice: Any) -> list[int]:
    return sorted(table.scan(**choice).to_arrow()["id"].to_pylist())


def rows(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def changed(folder: str) -> dict[str, Any]:
    """Every verb that needs no frame, and what the table holds after it."""
    made = ice.create_table(folder, "id bigint not null, k string", partition_by=["k"])
    made.append(rows(id=[1, 2, 3, 4], k=["a", "a", "b", "b"]))
    table = ice.load_table(folder)
    found: dict[str, Any] = {"append": ids(table), "filter": ids(table, row_filter="id > 2")}
    found["count"] = table.scan(row_filter="k = 'a'").count()
    table.delete("id = 1")
    found["delete"] = ids(table)
    table.upsert(rows(id=[2, 9], k=["a", "a"]), ["id", "k"])
    found["upsert"] = ids(table)
    table.overwrite(rows(id=[7], k=["b"]), "id = 3")
    found["overwrite"] = ids(table)
    table.dynamic_partition_overwrite(rows(id=[8], k=["b"]))
    found["dynamic"] = ids(table)
    table.maintenance.convert_equality_deletes()
    table.update_schema().add_column("v", "int").rename_column("k", "key").commit()
    table.update_spec().add_field("bucket(2, id)").commit()
    table.append(rows(id=[10], key=["c"], v=pa.array([5], pa.int32())))
    found["schema"] = ids(table, row_filter="v = 5"), list(table.scan().to_arrow().column_names)
    found["changes"] = table.scan().changes().count()
    found["snapshots"] = len(table.inspect.snapshots())
    expired = table.maintenance.expire_snapshots(int(time.time() * 1000) + 1000)
    found["expired"] = expired.deleted_data_files_count > 0
    found["left"] = len(table.refresh().snapshots()), ids(table)
    found["explain"] = "file" in table.scan().explain()
    found["doctor"] = {one.what: one.state for one in ice.doctor().findings}["PySpark"]
    return found


def refusals(folder: str) -> dict[str, str]:
    """What runs on Spark, and what it says."""
    table = ice.load_table(folder)
    source = rows(id=[1], key=["a"])
    calls: dict[str, Callable[[], object]] = {
        "to_df": lambda: table.scan().to_df(),
        "changes": lambda: table.scan().changes().to_df(),
        "update": lambda: table.update({"v": "1"}, "id = 1"),
        "merge": lambda: table.merge(source, "t.id = s.id").when_matched_delete().execute(),
        "enable": lambda: ice.enable,
        "sql": lambda: ice.sql,
        "explain_append": table.explain_append,
    }
    said = {}
    for name, call in calls.items():
        try:
            call()
        except IcebergError as error:
            said[name] = str(error)
    return said


if __name__ == "__main__":
    place = sys.argv[1]
    print(json.dumps({"changed": changed(place), "refused": refusals(place)}))
    assert not [name for name in sys.modules if name.partition(".")[0] in ("pyspark", "py4j")]
