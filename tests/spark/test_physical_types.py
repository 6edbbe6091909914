"""Files whose physical types, codecs or encodings Spark's reader gets wrong take the Arrow engine.

Source: parquet-format, "DECIMAL", "Compression", "Encodings".
"""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.spark.reading import footers, plan_frame
from iceberg_spark.spark.reading.engine_choice import choose_engines
from iceberg_spark.spark.reading.plan_frame import reach_of
from tests.limits import set_limits
from tests.parquet_files import decimal_column, decimal_file, raw_lz4_file

COLUMNS = {
    f"{physical}{width or ''}_{precision}": decimal_column(physical, width, precision)
    for precision in (9, 18, 38)
    for physical, width in (
        ("int32", 0), ("int64", 0), ("binary", 0),
        *(("fixed", width) for width in (4, 5, 8, 9, 12, 15, 16)),
    )
    if decimal_column(physical, width, precision) is not None
}  # fmt: skip
UNSCALED = [0, 1, -1, 10**9 - 1, 1 - 10**9, None]


@pytest.fixture(scope="module")
def decimals(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table with a column for each physical type of decimals."""
    folder = tmp_path_factory.mktemp("decimals")
    return table_of(folder, decimal_file(folder / "f.parquet", UNSCALED, COLUMNS), COLUMNS)


def table_of(folder: Path, file: Path, columns: Mapping[str, Any]) -> Table:
    kinds = "".join(f", {name} decimal({c.precision}, 2)" for name, c in columns.items())
    table = ice.create_table(str(folder / "t"), f"id bigint{kinds}")
    table.add_files([str(file)])
    return table


def value(unscaled: int | None) -> Decimal | None:
    return None if unscaled is None else Decimal(unscaled).scaleb(-2)


def by_id(rows: Any, name: str) -> list[Any]:
    return [row[name] for row in sorted(rows, key=lambda row: row["id"])]


@pytest.mark.parametrize("name", COLUMNS)
def test_decimals_of_each_physical_type_are_read_as_stored(
    spark: SparkSession, decimals: Table, name: str
) -> None:
    scan = decimals.scan(selected_fields=("id", name))
    expected = [value(unscaled) for unscaled in UNSCALED]
    assert by_id(scan.to_df(spark).collect(), name) == expected
    assert by_id(scan.to_arrow().to_pylist(), name) == expected


@pytest.mark.parametrize("name", [name for name in COLUMNS if name.endswith("18")])
def test_filters_on_decimals_of_each_physical_type_return_what_they_should(
    spark: SparkSession, decimals: Table, name: str
) -> None:
    for condition, expected in ((f"{name} = -0.01", [2]), (f"{name} > 0.00", [1, 3])):
        scan = decimals.scan(row_filter=condition, selected_fields=("id",))
        assert sorted(row.id for row in scan.to_df(spark).collect()) == expected
        assert sorted(scan.to_arrow()["id"].to_pylist()) == expected


def test_decimals_are_read_as_stored_where_the_driver_reads_no_footers(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"d": COLUMNS["fixed12_18"]}
    unscaled = [*UNSCALED[:-1], 10**17 + 1, -(10**17)]
    wide = decimal_file(tmp_path / "wide.parquet", unscaled, columns, has_field_ids=True)
    table = table_of(tmp_path, wide, columns)
    table.update_properties().remove("schema.name-mapping.default").commit()
    table.append(pa.table({"id": [len(unscaled)], "d": [Decimal("7.00")]}))
    set_limits(monkeypatch, footers, "FOOTERS", local=1)
    set_limits(monkeypatch, plan_frame, "FOOTERS", task_files=1)
    jobs: list[object] = []

    def job_results(*given: Any, **more: Any) -> Any:
        jobs.append(given)
        return run_jobs(*given, **more)

    run_jobs = plan_frame.job_results
    monkeypatch.setattr(plan_frame, "job_results", job_results)
    expected = [*map(value, unscaled), Decimal("7.00")]
    for _ in range(2):
        assert by_id(table.scan().to_df(spark).collect(), "d") == expected
    assert len(jobs) == 1
    engines = [group.engine for group in choose_engines(table.scan().plan_files(), reach_of(spark))]
    assert engines == ["native", "arrow"]
    assert table.scan(selected_fields=("id",)).to_df(spark).count() == len(expected)
    assert len(jobs) == 1


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_changes_and_compaction_write_the_same_decimals_back(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    columns = {name: COLUMNS[name] for name in ("fixed12_18", "binary_18", "int64_18")}
    table = table_of(tmp_path, decimal_file(tmp_path / "f.parquet", UNSCALED, columns), columns)
    table.update_properties().set({"write.update.mode": mode}).commit()
    table.update({"id": "id + 10"}, "id < 3")
    table.maintenance.rewrite_data_files(options={"rewrite-all": "true"}, spark=spark)
    for name in columns:
        expected = [value(unscaled) for unscaled in (*UNSCALED[3:], *UNSCALED[:3])]
        assert by_id(table.scan().to_arrow().to_pylist(), name) == expected


@pytest.mark.parametrize("codec", ["brotli", "lz4", "raw lz4", "gzip", "BYTE_STREAM_SPLIT"])
def test_files_of_each_codec_and_encoding_are_read(
    spark: SparkSession, tmp_path: Path, codec: str
) -> None:
    rows = pa.table({"id": pa.array(range(100), pa.int64()), "x": [n / 2 for n in range(100)]})
    path = tmp_path / "f.parquet"
    if codec == "raw lz4":
        raw_lz4_file(path, rows)
    elif codec == "BYTE_STREAM_SPLIT":
        pq.write_table(rows, path, use_dictionary=False, column_encoding={"x": codec})
    else:
        pq.write_table(rows, path, compression=codec)
    table = ice.create_table(str(tmp_path / "t"), "id bigint, x double")
    table.add_files([str(path)])
    assert by_id(table.scan().to_df(spark).where("x >= 10").collect(), "id") == list(range(20, 100))
    table.update({"x": "x + 1"}, "id = 0")
    assert by_id(table.scan().to_arrow().to_pylist(), "x") == [1.0, *rows["x"].to_pylist()[1:]]


def test_a_table_written_with_brotli_is_read(spark: SparkSession, tmp_path: Path) -> None:
    properties = {"write.parquet.compression-codec": "brotli"}
    with pytest.warns(UserWarning, match="brotli"):
        table = ice.create_table(str(tmp_path / "t"), "id bigint", properties=properties)
    table.append(spark.range(10))
    assert sorted(row.id for row in table.scan().to_df(spark).collect()) == list(range(10))
