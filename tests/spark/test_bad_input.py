"""Bad input through the data source: our message is in what Spark shows, and nothing is left."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from tests.builders import data_file as described


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = ice.create_table(str(tmp_path / "t"), "id bigint not null, k string")
    made.append(pa.table({"id": [0, 1, 2], "k": ["x", "x", "x"]}))
    return made


def message(action: Callable[[], Any]) -> str:
    """What a user reads of the error that an action ends with."""
    with pytest.raises(Exception, match=r".") as caught:
        action()
    return str(caught.value)


def load(spark: Any, location: str, **options: str) -> Any:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    return spark.read.format("pyiceberg-lite").options(**named).load(location)


def data_file(table: Table) -> Path:
    (task,) = table.scan().plan_files()
    return Path(task.file_path)


def test_a_truncated_data_file_is_named(any_spark: Any, table: Table) -> None:
    path = data_file(table)
    path.write_bytes(path.read_bytes()[:40])
    shown = message(lambda: load(any_spark, table.location()).collect())
    assert "CorruptFileError" in shown and path.name in shown


def test_a_missing_data_file_is_named(any_spark: Any, table: Table) -> None:
    path = data_file(table)
    path.unlink()
    shown = message(lambda: load(any_spark, table.location()).collect())
    assert "NoSuchFileError" in shown and path.name in shown


def test_damaged_metadata_is_named(any_spark: Any, table: Table) -> None:
    path = Path(table.metadata_location)
    path.write_text("{", encoding="utf-8")
    shown = message(lambda: load(any_spark, table.location()).schema)
    assert "CorruptFileError" in shown and path.name in shown


def test_a_location_that_is_no_table_is_named(any_spark: Any, tmp_path: Path) -> None:
    shown = message(lambda: load(any_spark, str(tmp_path)).schema)
    assert "NoSuchTableError" in shown and f"No table at {tmp_path}" in shown


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"snapshot_idd": "1"}, "snapshot-id"),
        ({"snapshot_id": "5"}, "No snapshot 5"),
        ({"snapshot_id": "five"}, "snapshot-id"),
        ({"branch": "dev"}, "No branch dev"),
        ({"columns": "nope"}, "No column 'nope'"),
        ({"row_filter": "nope > 1"}, "No column 'nope'"),
        ({"row_filter": "id >"}, "id >"),
        ({"metadata_columns": "_nope"}, "_nope"),
    ],
)
def test_an_option_that_can_not_be_is_named(
    spark: Any, table: Table, options: dict[str, str], shown: str
) -> None:
    assert shown in message(lambda: load(spark, table.location(), **options).collect())


def test_a_null_in_a_required_column_is_named_and_leaves_nothing(
    any_spark: Any, table: Table, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    frame = any_spark.range(10).selectExpr("if(id = 7, null, id) id", "'x' k")
    shown = message(
        lambda: frame.write.format("pyiceberg-lite").mode("append").save(table.location())
    )
    assert "Column 'id' is required" in shown
    assert sorted(tmp_path.rglob("*")) == before


def test_a_table_of_version_4_is_not_created(spark: Any, tmp_path: Path) -> None:
    writer = spark.range(1).write.format("pyiceberg-lite").mode("append")
    shown = message(lambda: writer.option("format-version", "4").save(str(tmp_path / "t")))
    assert "format-version 4" in shown
    assert not (tmp_path / "t").exists()
    writer.option("format-version", "3").save(str(tmp_path / "t"))
    assert ice.load_table(str(tmp_path / "t")).metadata.format_version == 3
    assert load(spark, str(tmp_path / "t"), **{"metadata-columns": "_row_id"}).collect() == [(0, 0)]


def test_columns_that_differ_by_case_are_named_where_spark_can_not_tell_them_apart(
    spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, ID bigint")
    shown = message(lambda: load(spark, table.location(), columns="Id"))
    assert "columns id, ID differ only by case" in shown


def test_a_scheme_that_is_not_the_tables_is_refused_by_both_engines(
    spark: Any, table: Table
) -> None:
    added = described(f"hdfs://127.0.0.1:1{data_file(table)}")
    with table.transaction() as tx:
        tx.overwrite_files(add=[added])
    for read in (lambda: table.scan().to_df(spark), lambda: load(spark, table.location())):
        said = message(lambda read=read: read().collect())  # type: ignore[misc]
        assert "scheme 'hdfs'" in said
        assert "io.allowed-schemes" in said
