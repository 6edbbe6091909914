"""Files without field ids are read by name, and partition values fill the columns they lack."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from tests.spark.native_tables import (
    EVERY_TYPE,
    METADATA_COLUMNS,
    every_type_rows,
    rows,
)


def without_ids(table: pa.Table) -> pa.Table:
    plain = pa.schema([pa.field(f.name, plain_type(f.type)) for f in table.schema])
    return table.cast(plain)


def plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, plain_type(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    return kind


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Every type, one file with ids and one without; then columns are renamed and added."""
    folder = tmp_path_factory.mktemp("mapped")
    table = ice.create_table(str(folder / "t"), EVERY_TYPE)
    given = pa.table(every_type_rows(12), schema=to_arrow(EVERY_TYPE))
    table.append(given)
    pq.write_table(without_ids(given), folder / "plain.parquet", row_group_size=4)
    table.add_files([str(folder / "plain.parquet")])
    with table.update_schema() as update:
        update.rename_column("s", "text")
        update.rename_column("st.a", "number")
        update.rename_column("l.element.x", "y")
        update.add_column("younger", "int")
    return table


def test_files_with_and_without_ids_read_the_same_as_by_arrow(spark: Any, mapped: Table) -> None:
    scan = mapped.scan(metadata_columns=METADATA_COLUMNS)
    native = scan.to_df(spark, engine="native")
    assert rows(native) == rows(scan.to_df(spark, engine="arrow"))
    assert native.where("younger is null").count() == 24


def test_filters_on_files_without_ids_lose_no_row(any_spark: Any, mapped: Table) -> None:
    native = mapped.scan().to_df(any_spark)
    arrow = mapped.scan().to_df(any_spark, engine="arrow").cache()
    for condition in (
        "f > 1", "not (d < 0)", "isnan(f)", "text like 's1%'", "st.f > 3", "st.number is null",
        "plain.p > 3", "get(l.y, 0) > 0", "younger is null", "u is null", "st is null",
    ):  # fmt: skip
        found = rows(native.where(condition).select("id"))
        assert found == rows(arrow.where(condition).select("id")), condition
    arrow.unpersist()
    for predicate in ("f > 1", "text like 's1%'", "st.f > 3", "st.number is null"):
        scan = mapped.scan(row_filter=predicate, selected_fields=("id",))
        expected = sorted(scan.to_arrow()["id"].to_pylist())
        assert sorted(row.id for row in scan.to_df(any_spark).collect()) == expected, predicate


def test_deletes_reach_files_without_ids(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, k string",
        properties={"write.delete.mode": "merge-on-read"},
    )
    pq.write_table(pa.table({"id": range(10), "k": ["x"] * 10}), tmp_path / "plain.parquet")
    table.add_files([str(tmp_path / "plain.parquet")])
    with table.update_schema() as update:
        update.rename_column("id", "number")
    table.delete("number = 3")
    table.upsert(pa.table({"number": [5], "k": ["new"]}), ["number"])
    scan = table.scan()
    found = scan.to_df(spark, engine="native")
    assert rows(found) == rows(scan.to_df(spark, engine="arrow"))
    assert sorted(row.number for row in found.collect()) == [n for n in range(10) if n != 3]


def test_partition_columns_that_a_hive_layout_leaves_out_are_constants(
    any_spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, k string, day date, price decimal(9, 2)",
        partition_by=["k", "day", "price"],
    )
    for name, number in (("a", 1), ("b", 2), ("__HIVE_DEFAULT_PARTITION__", 3)):
        folder = tmp_path / "hive" / f"k={name}" / f"day=2026-01-0{number}" / f"price={number}.50"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": [number, number + 10]}), folder / "f.parquet")
    table.add_files(str(tmp_path / "hive"))
    native = table.scan().to_df(any_spark, engine="native")
    arrow = table.scan().to_df(any_spark, engine="arrow")
    assert native.schema == arrow.schema and rows(native) == rows(arrow)
    assert [row.id for row in native.where("k = 'b' and id > 10").collect()] == [12]
    filtered = table.scan(row_filter="price > 1 and id < 10 and k is null")
    assert [row.id for row in filtered.to_df(any_spark, engine="native").collect()] == [3]


def test_partitions_of_zeros_and_nan_that_files_leave_out_are_kept_apart(
    spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, x double", partition_by=["x"])
    for number, name in enumerate(("0.0", "-0.0", "NaN", "1.5")):
        folder = tmp_path / "hive" / f"x={name}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": [number]}), folder / "f.parquet")
    table.add_files(str(tmp_path / "hive"))
    found = table.scan().to_df(spark, engine="native").orderBy("id").collect()
    assert [str(row.x) for row in found] == ["0.0", "-0.0", "nan", "1.5"]
