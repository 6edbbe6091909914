"""Rows that are appended by a handle of before go where its names are now, or nowhere."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from iceberg_spark import Table
from iceberg_spark.errors import InvalidSchemaError
from tests.unit.catalog.rest.small_server import SmallServer


def swap(table: Table) -> None:
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        table.update_schema().rename_column(old, new).commit()


def make_anew(table: Table) -> None:
    table.update_schema().delete_column("a").commit()
    table.update_schema().add_column("a", "bigint").commit()


@pytest.mark.parametrize("change", [swap, make_anew])
def test_values_go_to_the_columns_that_have_the_names_now(
    tmp_path: Path, change: Callable[[Table], None]
) -> None:
    server = SmallServer(tmp_path)
    table = server.named().create_table("db.t", "a bigint, b bigint")
    change(server.named().load_table("db.t"))
    table.append(pa.table({"a": [1], "b": [2]}))
    (row,) = server.named().load_table("db.t").scan().to_arrow().to_pylist()
    assert row == {"a": 1, "b": 2}


def test_values_of_a_column_that_is_gone_are_refused(tmp_path: Path) -> None:
    server = SmallServer(tmp_path)
    table = server.named().create_table("db.t", "a bigint, b bigint")
    server.named().load_table("db.t").update_schema().delete_column("a").commit()
    with pytest.raises(InvalidSchemaError, match="'a'"):
        table.append(pa.table({"a": [1], "b": [2]}))
    assert server.named().load_table("db.t").scan().count() == 0


def test_rows_that_others_appended_meanwhile_are_in_nobodys_way(tmp_path: Path) -> None:
    server = SmallServer(tmp_path)
    table = server.named().create_table("db.t", "a bigint")
    server.named().load_table("db.t").append(pa.table({"a": [1]}))
    table.append(pa.table({"a": [2]}))
    found = server.named().load_table("db.t").scan().to_arrow()["a"].to_pylist()
    assert sorted(found) == [1, 2]


@pytest.mark.parametrize("change", [swap, make_anew])
def test_a_stream_of_rows_is_not_read_by_a_try_that_is_refused(
    tmp_path: Path, change: Callable[[Table], None]
) -> None:
    """It gives its batches once: the second try would land without rows."""
    server = SmallServer(tmp_path)
    table = server.named().create_table("db.t", "a bigint, b bigint")
    change(server.named().load_table("db.t"))
    source = pa.table({"a": [1], "b": [2]})
    table.append(pa.RecordBatchReader.from_batches(source.schema, source.to_batches()))
    (row,) = server.named().load_table("db.t").scan().to_arrow().to_pylist()
    assert row == {"a": 1, "b": 2}
