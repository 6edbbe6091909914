"""Bounds of shredded fields beside Java: the same bytes, and no row is lost by either's."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.api.table import Table
from iceberg_spark.expr.parse_variant import variant_conjuncts
from iceberg_spark.expr.variant_filter import variant_filter
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from tests.oracle import duckdb_reader
from tests.oracle.java_api import identifier, location
from tests.variant_conditions import ROWS, matching_ids, random_condition, rows_of_file

SHREDDED = {"format-version": "3", "write.parquet.shred-variants": "true"}
FIELDS = """named_struct('t', id % 3 = 0, 'n', 10000000000 + id, 'd', cast(id as double) / 7,
    'day', date_add(date'1969-12-28', cast(id as int)), 'at', timestamp_micros(id * 1000003 - 5),
    'wall', cast(timestamp_micros(id * 1000003) as timestamp_ntz), 'long',
    concat('a text that is long, number ', id), 'short', concat('é', id), "it's", 5000000000 - id,
    'high', repeat(decode(unhex('F48FBFBF'), 'utf-8'), 20), 'nan', if(id = 3, double('NaN'), 1D),
    'zero', if(id % 2 = 0, double('-0.0'), 0D), 'one', 10000000001,
    'null', if(id = 5, null, 'x'))"""
NUMBERS = """concat('{"n": ', id, ', "s": "t', id, '", "o": {"p": ', id, '}, "x": ', id,
    'e0, "m": ', id, '.25, "l": ["b", "c"]}')"""


def numbered(spark: SparkSession, first: int) -> DataFrame:
    rows = spark.range(first, first + 10).coalesce(1)
    return rows.selectExpr("id", f"parse_json({NUMBERS}) v")


def new_table(java: SparkSession, name: str, **properties: str) -> None:
    given = ", ".join(f"'{key}'='{value}'" for key, value in {**SHREDDED, **properties}.items())
    columns = "id bigint, v variant"
    java.sql(f"create table {identifier(name)} ({columns}) using iceberg tblproperties ({given})")


def javas_table(java: SparkSession, name: str, **properties: str) -> Table:
    """Four files of Java, with ten numbers each."""
    new_table(java, name, **properties)
    for number in range(4):
        numbered(java, number * 10).writeTo(identifier(name)).append()
    return ice.load_table(location(java, name))


def bounds(table: Table) -> list[tuple[Any, Any]]:
    found = table.refresh().inspect.files().to_pylist()
    return [(dict(row["lower_bounds"]).get(2), dict(row["upper_bounds"]).get(2)) for row in found]


def ids(rows: Any) -> list[int]:
    return sorted(row.id for row in rows.select("id").collect())


def javas_ids(java: SparkSession, table: Table) -> list[int]:
    """Java's own vectorized reader fails on shredded files."""
    java.conf.set("spark.sql.iceberg.vectorization.enabled", "false")
    try:
        return ids(java.read.format("iceberg").load(table.location()))
    finally:
        java.conf.unset("spark.sql.iceberg.vectorization.enabled")


def planned(table: Table, condition: str) -> set[str]:
    """The files that a condition leaves."""
    wanted = variant_filter(table.schema(), variant_conjuncts(condition), time_zone="UTC")
    context = scan_context(table.metadata, ScanRequest(), table.io)
    found = plan(table.metadata, table.io, context, pruned_by=wanted)
    return set(found.files.column("file_path").to_pylist())


@pytest.mark.parametrize("mode", ["truncate(16)", "truncate(1)", "full", "counts", "none"])
def test_our_bounds_are_javas_to_the_byte(java: SparkSession, mode: str) -> None:
    rows = java.range(20).coalesce(1).selectExpr("id", f"to_variant_object({FIELDS}) v")
    name = f"vb_bytes_{''.join(filter(str.isalnum, mode))}"
    properties = {"write.metadata.metrics.default": mode}
    new_table(java, name, **properties)
    rows.writeTo(identifier(name)).append()
    theirs = bounds(ice.load_table(location(java, name)))
    place = location(java, f"{name}_ours")
    table = ice.create_table(place, "id bigint, v variant", properties=SHREDDED | properties)
    table.append(rows)
    assert bounds(table) == theirs
    assert (theirs == [(None, None)]) == (mode in ("counts", "none"))


PRUNING = {
    "variant_get(v, '$.n', 'int') = 25": 1,
    "variant_get(v, '$.n', 'double') > 25.5D": 2,
    "variant_get(v, '$.m', 'decimal(9,2)') < 5": 1,
    "variant_get(v, '$.m', 'double') >= 30.25D": 1,
    "variant_get(v, '$.o.p', 'bigint') in (5, 15)": 2,
    "variant_get(v, '$.s', 'string') = 't35'": 2,  # the first file has t3 and t4
    "variant_get(v, '$.x', 'double') < 5": 1,
    "variant_get(v, '$.x', 'double') > 35": 4,
    "variant_get(v, '$.l', 'string') = '[\"b\",\"c\"]'": 4,
    "variant_get(v, '$.l[0]', 'string') = 'a'": 4,
    "not (variant_get(v, '$.n', 'int') >= 10)": 1,
    "variant_get(v, '$.n', 'int') = 5 or id = 15": 2,
    "variant_get(v, '$.n', 'int') > 1000": 0,
}


def test_javas_files_are_left_out_by_the_bounds_that_it_wrote(java: SparkSession) -> None:
    table = javas_table(java, "vb_java")
    whole = table.scan().to_df(java)
    ice.enable(java)
    try:
        frame = java.read.format("pyiceberg-lite").load(table.location())
        for condition, count in PRUNING.items():
            expected = ids(whole.where(f"id >= 0 and {condition}"))
            found = frame.where(condition)
            assert ids(found) == expected, condition
            assert len(found.inputFiles()) == count, condition
            assert len(planned(table, condition)) == count, condition
    finally:
        ice.disable(java)


def test_java_reads_our_bounds(java: SparkSession) -> None:
    """By its own classes: its scans take no predicate on a variant's field."""
    place = location(java, "vb_ours")
    table = ice.create_table(place, "id bigint, v variant", properties=SHREDDED)
    table.append(numbered(java, 30))
    buffers, order = java._jvm.java.nio.ByteBuffer, java._jvm.java.nio.ByteOrder
    decode = getattr(java._jvm.org.apache.iceberg.variants.Variant, "from")
    for bound, number in zip(bounds(table)[0], (30, 39), strict=True):
        found = decode(buffers.wrap(bytearray(bound)).order(order.LITTLE_ENDIAN)).value()
        names = java._jvm.org.apache.iceberg.relocated.com.google.common.collect.Lists.newArrayList(
            found.fieldNames()
        )
        assert {name: str(found.get(name).asPrimitive().get()) for name in names} == {
            "$['n']": str(number),
            "$['s']": f"t{number}",
            "$['x']": f"{number}.0",
        }
    assert java.table(f"{identifier('vb_ours')}.files").selectExpr("readable_metrics").count() == 1


CHANGES: dict[str, Callable[[Table, SparkSession], object]] = {
    "delete": lambda table, _: table.delete("variant_get(v, '$.n', 'int') = 25"),
    "update": lambda table, _: table.update(
        {"id": "id + 100"}, where="variant_get(v, '$.m', 'decimal(9,2)') = 25.25"
    ),
    "merge": lambda table, java: (
        table.merge(java.sql("select 25L k"), "variant_get(t.v, '$.o.p', 'int') = s.k - 0 "
                    "and variant_get(t.v, '$.o.p', 'int') > 20")
        .when_matched_delete()
        .execute()
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", CHANGES)
def test_changes_by_fields_of_javas_files_are_read_by_java(
    java: SparkSession, mode: str, change: str
) -> None:
    name = f"vb_{change}_{mode.replace('-', '_')}"
    table = javas_table(java, name, **{f"write.{change}.mode": mode})
    CHANGES[change](table, java)
    expected = [number for number in range(40) if number != 25]
    if change == "update":
        expected.append(125)
    assert ids(table.refresh().scan().to_df(java)) == expected
    assert javas_ids(java, table) == expected
    summary = table.current_snapshot().summary
    assert (summary.get("deleted-data-files"), summary.get("added-position-deletes")) == (
        ("1", None) if mode == "copy-on-write" else (None, "1")
    )


@pytest.mark.parametrize("seed", range(2))
def test_random_conditions_lose_no_row_of_javas_files(java: SparkSession, seed: int) -> None:
    rng, name = random.Random(1000 + seed), f"vb_random_{seed}"
    new_table(java, name)
    for number in range(5):
        rows_of_file(java, rng, number * ROWS).coalesce(1).writeTo(identifier(name)).append()
    table = ice.load_table(location(java, name))
    numbers = {
        row["file_path"]: row["readable_metrics"]["id"]["lower_bound"] // ROWS
        for row in table.inspect.files().to_pylist()
    }
    conditions = [random_condition(rng) for _ in range(60)]
    found = matching_ids(table.scan().to_df(java), conditions)
    left_out = 0
    for condition, matching in zip(conditions, found, strict=True):
        kept = {numbers[path] for path in planned(table, condition)}
        assert {number // ROWS for number in matching} <= kept, condition
        left_out += 5 - len(kept)
    assert left_out > 5


def test_a_nan_in_a_later_row_group_hides_no_row(java: SparkSession) -> None:
    new_table(
        java,
        "vb_nan",
        **{
            "write.parquet.row-group-size-bytes": "64",
            "write.parquet.row-group-check-min-record-count": "10",
            "write.parquet.row-group-check-max-record-count": "10",
        },
    )
    value = "if(id = 55, double('NaN'), if(id > 50, -double(id), double(id)))"
    rows = java.range(100).coalesce(1).selectExpr(
        "id", f"to_variant_object(named_struct('x', {value}, 'n', id)) v"
    )  # fmt: skip
    rows.writeTo(identifier("vb_nan")).append()
    table = ice.load_table(location(java, "vb_nan"))
    (row,) = table.inspect.files().to_pylist()
    assert pq.ParquetFile(row["file_path"].removeprefix("file:")).metadata.num_row_groups > 2
    for condition in ("= -60", "< -95", "> 45", "= cast('NaN' as double)"):
        assert len(planned(table, f"variant_get(v, '$.x', 'double') {condition}")) == 1, condition
    assert len(planned(table, "variant_get(v, '$.n', 'int') > 99")) == 0


def test_broken_bounds_stop_nobody(java: SparkSession) -> None:
    """Cut, without their objects, of no variant at all: the rows are there, for others too."""
    table = javas_table(java, "vb_broken")
    tasks = list(table.scan().plan_files())
    found = [data_file(task) for task in tasks]
    listed = {row["file_path"]: row for row in table.inspect.files().to_pylist()}
    new = []
    for file, cut in zip(found, (0, 1, 9, -1), strict=True):
        row = listed[file.file_path]
        lower, upper = dict(row["lower_bounds"]), dict(row["upper_bounds"])
        new.append(
            replace(
                file,
                lower_bounds={**lower, 2: lower[2][:cut]},
                upper_bounds={**upper, 2: b"\xff" + upper[2][1:]},
            )
        )
    with table.transaction() as tx:
        tx.overwrite_files(add=new, delete=found)
    table.refresh()
    condition = "variant_get(v, '$.n', 'int') = 25"
    assert len(planned(table, condition)) == 4
    ice.enable(java)
    try:
        frame = java.read.format("pyiceberg-lite").load(table.location())
        assert ids(frame.where(condition)) == [25]
    finally:
        ice.disable(java)
    assert javas_ids(java, table) == list(range(40))
    with duckdb_reader.connect() as connection:
        query = f"select count(*) from iceberg_scan('{table.location()}')"
        assert connection.execute(query).fetchall() == [(40,)]
    table.delete(condition)
    left = table.refresh().scan().to_df(java)
    assert ids(left) == [number for number in range(40) if number != 25]
