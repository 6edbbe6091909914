"""Sorts and curves on Spark's tasks: rows travel in Arrow, and lie as they do when sorted here."""

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.maintenance.layout import layout
from iceberg_spark.maintenance.rewrite_options import rewrite_options
from iceberg_spark.maintenance.row_order import RowOrder
from iceberg_spark.spark.procedures import compaction
from iceberg_spark.spec.schema import Schema
from tests.limits import set_limits

SCHEMA = "id bigint, s string, d double, f float, p struct<x: int, y: decimal(9, 2)>, l array<int>"
TEXTS = ["", "a", "Z", "\u00e9", "\ue000", "\U0001f600", "a" * 40, None]
DOUBLES = [0.0, -0.0, math.nan, math.inf, -math.inf, 2.5, -2.5, None]


@pytest.fixture(autouse=True)
def _small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let groups be shuffled however small they are, from several tasks, in many ranges."""
    set_limits(monkeypatch, compaction, "ORDERING", task_bytes=1, range_bytes=2_000)


def some_rows(table: Table, start: int, count: int) -> pa.Table:
    pick = random.Random(start)
    rows = [
        {
            "id": number,
            "s": pick.choice(TEXTS),
            "d": pick.choice(DOUBLES),
            "f": pick.choice(DOUBLES),
            "p": pick.choice([None, {"x": pick.choice([None, 1, 2]), "y": None}]),
            "l": pick.choice([None, [], [1, None]]),
        }
        for number in range(start, start + count)
    ]
    pick.shuffle(rows)
    return pa.Table.from_pylist(rows, to_arrow(table.metadata.schema))


def made(folder: Path, **properties: str) -> Table:
    """Five files with deletes by position and by key."""
    table = ice.create_table(
        str(folder / "t"), SCHEMA, properties={"write.delete.mode": "merge-on-read"} | properties
    )
    for number in range(5):
        table.append(some_rows(table, number * 400, 400))
    table.delete("id between 100 and 149")
    if properties.get("format-version") != "3":
        table.upsert(some_rows(table, 0, 20), ["id"])
    return table


def texts(table: Table, *metadata_columns: str) -> list[str]:
    """Rows as texts: NaN and -0.0 are told apart from what else equals them, or not even that."""
    rows = table.scan(metadata_columns=metadata_columns).to_arrow().to_pylist()
    return sorted(str(row) for row in rows)


def in_files(table: Table) -> list[pa.Table]:
    """The rows of each file as they lie, files in the order of what they begin with."""
    found = table.scan(metadata_columns=("_file", "_pos")).to_arrow()
    found = found.sort_by([("_file", "ascending"), ("_pos", "ascending")])
    names = found["_file"].unique().to_pylist()
    return [found.filter(pa.compute.equal(found["_file"], name)) for name in names]


ORDERS = ("s, id", "s desc nulls last, d", "d asc nulls last, p.x", "f desc, id desc",
          "bucket(3, id), s", "zorder(id, d)", "zorder(s, f, id)")  # fmt: skip


@pytest.mark.parametrize("text", ORDERS)
def test_files_lie_in_the_order_one_after_the_other(spark: Any, tmp_path: Path, text: str) -> None:
    table = made(tmp_path)
    before = texts(table)
    size = sum(task.file_size_in_bytes for task in table.scan().plan_files())
    options = {"rewrite-all": True, "target-file-size-bytes": size // 3}
    done = table.maintenance.rewrite_data_files("sort", text, options=options, spark=spark)
    assert texts(table) == before
    assert 2 <= done.added_data_files_count <= 5
    schema = table.metadata.schema
    wanted = layout(table.metadata, "sort", text)
    order = RowOrder(wanted, rewrite_options({}, wanted.strategy, table.metadata))
    names = [field.name for field in schema.fields]
    files = [each.select(names) for each in in_files(table)]
    for each in files:
        assert_in_order(order, each, schema)
    for end in (-1, 0):  # by their last rows first: the first ones may be alike
        keys = order.keys(
            pa.concat_tables([each.take([end % len(each)]) for each in files]), schema
        )
        files = [files[place] for place in order.places(keys).tolist()]
    assert_in_order(order, pa.concat_tables(files), schema)


def assert_in_order(order: RowOrder, rows: pa.Table, schema: Schema) -> None:
    assert order.places(order.keys(rows, schema)).tolist() == list(range(len(rows)))


@pytest.mark.parametrize("text", ["s desc, id", "zorder(id, s)"])
def test_rows_keep_their_ids_and_the_order_is_recorded(
    any_spark: Any, tmp_path: Path, text: str
) -> None:
    table = made(tmp_path, **{"format-version": "3"})
    table.update_sort_order().desc("s").asc("id").commit()
    lineage = ("_row_id", "_last_updated_sequence_number")
    before = texts(table, *lineage)
    table.maintenance.rewrite_data_files(
        "sort", text, options={"rewrite-all": True}, spark=any_spark
    )
    assert texts(table, *lineage) == before
    known = table.metadata.default_sort_order_id if text.startswith("s") else 0
    assert set(table.inspect.files()["sort_order_id"].to_pylist()) == {known}


def test_nothing_is_left_behind_where_a_task_fails(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path)
    gone = next(iter(table.scan().plan_files())).file_path
    Path(gone.removeprefix("file:")).unlink()
    before = sorted((tmp_path / "t" / "data").rglob("*"))
    with pytest.raises(Exception, match=Path(gone).name):
        table.maintenance.rewrite_data_files(
            "sort", "id", options={"rewrite-all": True}, spark=spark
        )
    assert sorted((tmp_path / "t" / "data").rglob("*")) == before
    assert spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == "10000"


def test_a_group_without_live_rows_becomes_no_file(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint", properties={"write.delete.mode": "merge-on-read"}
    )
    for start in (0, 100):
        table.append(pa.table({"id": list(range(start, start + 100))}))
    table.append(pa.table({"id": [500]}))
    table.delete("id between 10 and 189")
    table.delete("id < 10 or id between 190 and 199")
    done = table.maintenance.rewrite_data_files(
        "sort", "id", "id < 500", {"rewrite-all": True}, spark=spark
    )
    assert done.added_data_files_count == 0
    assert table.scan().to_arrow().to_pylist() == [{"id": 500}]
