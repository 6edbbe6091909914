"""Spark skips row groups only by columns that a file provably has as the table has them."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spark.reading.plan_frame import plan_frame
from tests.spark.test_native_reading import explained


def stored(name: str, kind: pa.DataType, number: int, values: list[Any]) -> tuple[Any, Any]:
    """A column of a file, with its field id."""
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)}), pa.array(values, kind)


def add_file(table: Table, path: Path, *columns: tuple[Any, Any], **partition: Any) -> None:
    """Add a file of row groups of two rows."""
    fields, arrays = zip(*columns, strict=True)
    rows = pa.Table.from_arrays(list(arrays), schema=pa.schema(fields))
    pq.write_table(rows, path, row_group_size=2, store_decimal_as_integer=True)
    table.add_files([str(path)])
    table.update_properties().remove("schema.name-mapping.default").commit()


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.collect())


def assert_found(spark: Any, table: Table, condition: str, expected: list[int]) -> None:
    """Spark's reader finds exactly these rows, by a scan's filter and by a frame's."""
    engine = None if "connect" in type(spark).__module__ else "native"
    assert ids(table.scan(row_filter=condition).to_df(spark, engine=engine)) == expected
    assert ids(table.scan().to_df(spark, engine=engine).where(condition)) == expected


ROWS = list(range(6))
IDS = stored("id", pa.int64(), 1, ROWS)


@pytest.mark.parametrize(("before", "after"), [(9, 18), (18, 38)])
def test_a_widened_decimal_is_not_skipped_by_constants_that_wrap(
    any_spark: Any, tmp_path: Path, before: int, after: int
) -> None:
    table = ice.create_table(str(tmp_path / "t"), f"id bigint, d decimal({after}, 2)")
    values = [Decimal(n) for n in ROWS]
    add_file(table, tmp_path / "f.parquet", IDS, stored("d", pa.decimal128(before, 2), 2, values))
    large = "3" * (before - 1) + ".00"
    assert_found(any_spark, table, f"d < {large}", ROWS)
    assert_found(any_spark, table, f"d not in ({large}, 1.00)", [0, 2, 3, 4, 5])
    table.delete(f"d < {large} and id > 1")
    assert table.scan().to_arrow()["id"].to_pylist() == [0, 1]


def test_a_long_that_a_file_has_as_int_is_not_skipped_by_constants_that_wrap(
    any_spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, n bigint")
    add_file(table, tmp_path / "f.parquet", IDS, stored("n", pa.int32(), 2, [1, 1, 2, 2, 3, 3]))
    assert_found(any_spark, table, f"n not in (1, {2**32 + 2})", [2, 3, 4, 5])
    assert_found(any_spark, table, f"n < {2**32 + 1}", ROWS)


@pytest.mark.parametrize(
    "names", [("b", "a"), ("x", "a"), ("A", "b"), ("a", "A")], ids=["swapped", "taken", "case", "2"]
)
def test_a_name_that_is_another_columns_in_a_file_is_not_asked(
    any_spark: Any, tmp_path: Path, names: tuple[str, str]
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, a int, b int")
    one, other = names
    columns = (
        stored(one, pa.int32(), 2, [10, 10, 20, 20, 30, 30]),
        stored(other, pa.int32(), 3, [1, 1, 2, 2, 3, 3]),
    )
    add_file(table, tmp_path / "f.parquet", IDS, *columns)
    assert_found(any_spark, table, "a > 15", [2, 3, 4, 5])
    assert_found(any_spark, table, "a in (10, 20)", [0, 1, 2, 3])
    assert_found(any_spark, table, "b <=> 2", [2, 3]) if names != ("a", "A") else None


def test_fields_of_structs_under_other_names_are_neither_skipped_nor_pruned(
    any_spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, s struct<a int, b int>")
    inner = [
        pa.field("b", pa.int32(), metadata={"PARQUET:field_id": "3"}),
        pa.field("a", pa.int32(), metadata={"PARQUET:field_id": "4"}),
    ]
    values = [{"b": n * 10, "a": n} for n in ROWS]
    add_file(table, tmp_path / "f.parquet", IDS, stored("s", pa.struct(inner), 2, values))
    assert_found(any_spark, table, "s.a > 15", [2, 3, 4, 5])
    found = table.scan().to_df(any_spark).selectExpr("s.a as id")
    assert ids(found) == [0, 10, 20, 30, 40, 50]


def test_metadata_without_former_schemas_proves_nothing(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint, a bigint, b bigint", properties={"format-version": "1"}
    )
    table.append(pa.table({"id": [0, 1], "a": [10, 11], "b": [1, 2]}))
    for name, new in (("a", "x"), ("b", "a"), ("x", "b")):
        with table.update_schema() as update:
            update.rename_column(name, new)
    forget_schemas(table)
    assert_found(spark, ice.load_table(table.location()), "b >= 10", [0, 1])


def forget_schemas(table: Table) -> None:
    """Leave only the current schema in the newest metadata file, as version 1 may have it."""
    path = Path(table.metadata_location.removeprefix("file:"))
    told = json.loads(path.read_text())
    for name in ("schemas", "current-schema-id", "partition-specs", "sort-orders"):
        told.pop(name, None)
    path.write_text(json.dumps(told))


def test_a_file_that_lacks_its_identity_partition_column_has_the_partitions_value(
    any_spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint, region string", partition_by=["region"]
    )
    (tmp_path / "region=eu").mkdir()
    add_file(table, tmp_path / "region=eu" / "f.parquet", IDS)
    table.append(pa.table({"id": [6], "region": ["us"]}))
    assert_found(any_spark, table, "region = 'eu'", ROWS)
    assert_found(any_spark, table, "region is null", [])
    table.update({"id": "id + 100"}, "id = 5")
    rows = table.scan().to_arrow().sort_by("id").to_pylist()
    assert [row["region"] for row in rows] == ["eu"] * 5 + ["us", "eu"]


def test_columns_that_files_prove_are_pushed_down(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, d decimal(9, 2), s string")
    add_file(
        table,
        tmp_path / "f.parquet",
        IDS,
        stored("d", pa.decimal128(9, 2), 2, [Decimal(n) for n in ROWS]),
    )
    text = explained(table.scan().to_df(spark).where("d < 3 and id > 1 and s = 'x'"))
    for pushed in ("LessThan(d,3.00)", "GreaterThan(id,1)", "EqualTo(s,x)"):
        assert pushed in text


@pytest.mark.parametrize(
    "said", [{"org.apache.spark.legacyDateTime": ""}, {"org.apache.spark.version": "2.4.8"}]
)
def test_days_that_a_former_spark_wrote_are_not_shifted(
    spark: Any, tmp_path: Path, said: dict[str, str]
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, d date")
    rows = pa.table({"id": [1], "d": pa.array([-200_000], pa.date32())})
    pq.write_table(rows.replace_schema_metadata(said), tmp_path / "f.parquet")
    table.add_files([str(tmp_path / "f.parquet")])
    assert table.scan().to_df(spark).selectExpr("unix_date(d) as id").collect() == [(-200_000,)]


@pytest.mark.parametrize("count", [("record_count", 5), ("file_size_in_bytes", 0)])
def test_a_file_with_other_rows_or_bytes_than_listed_is_named(
    spark: Any, tmp_path: Path, count: tuple[str, int]
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": ROWS}))
    plan = table.scan().plan_files()
    name, value = count
    at = plan.files.schema.get_field_index(name)
    files = plan.files.set_column(at, name, pa.array([value], pa.int64()))
    with pytest.raises(CorruptFileError, match=plan[0].file_path):
        plan_frame(replace(plan, files=files), spark)
