"""Compaction on Spark's tasks: the same rows and files as in this process, sorted by shuffles."""

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.maintenance.rewrite_options import RewriteOptions, Strategy, rewrite_options
from iceberg_spark.maintenance.row_order import z_values
from iceberg_spark.spark.procedures.compaction import z_order_keys

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def made(folder: Path, **given: Any) -> Table:
    """Six files with deletes by position and by key, of which the first two have another spec."""
    table = ice.create_table(
        str(folder / "t"), "id bigint, k string, x double", properties=MERGE_ON_READ, **given
    )
    pick = random.Random(5)
    for number in range(6):
        if number == 2:
            table.update_spec().add_field("k").commit()
        ids = list(range(number * 1000, number * 1000 + 1000))
        pick.shuffle(ids)
        columns = {"id": ids, "k": [f"k{n % 2}" for n in ids], "x": [pick.random() for _ in ids]}
        table.append(pa.table(columns))
    table.delete("id between 2100 and 2199")
    gone = pa.table({"id": [5, 3005], "k": ["k1", "k1"], "_op": ["D", "D"]})
    table.upsert(gone.append_column("x", pa.nulls(2, pa.float64())), ["id", "k"])
    return table


def live(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


@pytest.mark.parametrize("order", [None, "zorder(id, x)"])
def test_a_session_rewrites_as_this_process_does(
    any_spark: Any, tmp_path: Path, order: str | None
) -> None:
    table = made(tmp_path)
    before = live(table)
    options = {"rewrite-all": True}
    done = table.maintenance.rewrite_data_files(sort_order=order, options=options, spark=any_spark)
    assert done.rewritten_data_files_count == 2 + 8
    assert done.added_data_files_count in (2, 3, 4)
    assert live(table) == before
    tasks = list(table.scan().plan_files())
    assert all(not task.delete_files for task in tasks)
    assert {task.partition for task in tasks} == {("k0",), ("k1",)}
    known = {Path(task.file_path) for task in tasks}
    ever = {
        Path(task.file_path)
        for snapshot in table.snapshots()
        for task in table.scan(snapshot_id=snapshot.snapshot_id).plan_files()
    }
    assert known <= ever
    data = set((tmp_path / "t" / "data").rglob("*.parquet"))
    assert {path for path in data if "deletes" not in path.name} == ever


def test_sorted_files_follow_one_another(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path)
    size = sum(task.file_size_in_bytes for task in table.scan("id >= 2000").plan_files())
    table.maintenance.rewrite_data_files(
        "sort",
        "x",
        "id >= 2000",
        {"rewrite-all": True, "target-file-size-bytes": size // 6},
        spark=spark,
    )
    found = table.scan("id >= 2000", metadata_columns=("_file",)).to_arrow().to_pylist()
    for part in ("k0", "k1"):
        files: dict[str, list[float]] = {}
        for row in found:
            if row["k"] == part:
                files.setdefault(row["_file"], []).append(row["x"])
        assert len(files) in (2, 3, 4)
        ranges = sorted((min(values), max(values)) for values in files.values())
        assert all(one[1] <= other[0] for one, other in pairwise(ranges))


Z_SCHEMA = (
    "i int, l bigint, d double, f float, b boolean, s string, y binary, ts timestamp, "
    "n timestamp_ntz, t date"
)


def z_rows(table: Table) -> pa.Table:
    pick = random.Random(3)
    now = datetime(2024, 1, 1, tzinfo=UTC)

    def row() -> dict[str, Any]:
        moment = now + timedelta(microseconds=pick.randint(-(10**15), 10**15))
        values = {
            "i": pick.randint(-(2**31), 2**31 - 1),
            "l": pick.randint(-(2**63), 2**63 - 1),
            "d": pick.choice([pick.uniform(-9, 9), 0.0, float("inf"), float("nan")]),
            "f": pick.uniform(-1e9, 1e9),
            "b": pick.random() < 0.5,
            "s": pick.choice(["", "a", "ab", "é" * 5, "abcdefghij", "zz\U0001f600zz"]),
            "y": bytes(pick.randrange(256) for _ in range(pick.randrange(12))),
            "ts": moment,
            "n": moment.replace(tzinfo=None),
            "t": moment.date(),
        }
        return {name: None if pick.random() < 0.1 else value for name, value in values.items()}

    return pa.Table.from_pylist([row() for _ in range(300)], to_arrow(table.metadata.schema))


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ("l", {}),
        ("i d", {}),
        ("s b ts", {"var-length-contribution": 3}),
        ("y l s n t", {"var-length-contribution": 11, "max-output-size": 13}),
        ("i l d f b s y ts n t", {}),
    ],
)
def test_a_curve_is_the_same_in_spark_and_in_arrow(
    spark: Any, tmp_path: Path, columns: str, options: dict[str, Any]
) -> None:
    table = ice.create_table(str(tmp_path / "z"), Z_SCHEMA)
    rows = z_rows(table)
    schema = table.metadata.schema
    wanted: RewriteOptions = rewrite_options(options, Strategy.Z_ORDER, table.metadata)
    ids = [schema.find_field(name).field_id for name in columns.split()]
    keys = z_order_keys(schema, ids, wanted)(
        lambda field_id: sf.col(schema.find_field(field_id).name)
    )
    table.append(rows)
    named = [key.alias(f"z{at}") for at, key in enumerate(keys)]
    frame = table.scan().to_df(spark).select(*[field.name for field in schema.fields], *named)
    both = frame.toArrow()
    expected = z_values(both.select(rows.column_names).cast(rows.schema), schema, ids, wanted)
    found = np.lexsort([both[f"z{at}"].to_numpy() for at in reversed(range(len(keys)))])
    in_order = expected[found]
    assert all(one <= other for one, other in pairwise(in_order.tolist()))
    words = [
        tuple(row.values())
        for row in both.select([f"z{at}" for at in range(len(keys))]).to_pylist()
    ]
    assert len(set(words)) == len(set(expected.tolist()))
