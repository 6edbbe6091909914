"""UUIDs have Arrow's UUID type wherever rows leave as Arrow, and go back in."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import polars as pl
import pyarrow as pa
import pytest

import iceberg_spark as ice

A, B = UUID(int=1), UUID(int=2)
COLUMNS = "u uuid, many array<uuid>, m map<string, uuid>, s struct<u: uuid, n: int>, n int"
ROW = {"u": A, "many": [A, None], "m": [("k", B)], "s": {"u": B, "n": 1}, "n": 1}
NOTHING = dict.fromkeys(ROW)


@pytest.fixture
def table(tmp_path: Path) -> ice.Table:
    table = ice.create_table(str(tmp_path / "t"), COLUMNS, partition_by="u")
    rows = [{**ROW, "u": A.bytes, "many": [A.bytes, None], "m": [("k", B.bytes)]}, NOTHING]
    rows[0]["s"] = {"u": B.bytes, "n": 1}
    stored = pa.binary(16)
    kinds = {
        "u": stored,
        "many": pa.list_(stored),
        "m": pa.map_(pa.string(), stored),
        "s": pa.struct([("u", stored), ("n", pa.int32())]),
        "n": pa.int32(),
    }
    table.append(pa.Table.from_pylist(rows, pa.schema(list(kinds.items()))))
    return table


def in_order(rows: pa.Table) -> list[dict[str, object]]:
    return sorted(rows.to_pylist(), key=lambda row: row["n"] is None)


def test_rows_have_uuids_at_every_depth(table: ice.Table) -> None:
    rows = table.scan().to_arrow()
    assert rows.schema.field("u").type == pa.uuid()
    assert in_order(rows) == [ROW, NOTHING]
    assert rows.schema.field("u").metadata[b"PARQUET:field_id"] == b"1"


def test_batches_changes_and_limits_have_uuids(table: ice.Table) -> None:
    scan = table.scan()
    assert in_order(scan.to_arrow_batch_reader().read_all()) == [ROW, NOTHING]
    assert table.scan("n = 1", limit=1).to_arrow().to_pylist() == [ROW]
    assert in_order(scan.changes().to_arrow().select(list(ROW))) == [ROW, NOTHING]


def test_metadata_tables_have_uuids(table: ice.Table) -> None:
    partitions = table.inspect.partitions().column("partition").to_pylist()
    assert {"u": A} in partitions


def test_rows_go_back_into_a_table(table: ice.Table, tmp_path: Path) -> None:
    rows = table.scan("n = 1").to_arrow()
    copy = ice.create_table(str(tmp_path / "copy"), COLUMNS)
    copy.append(rows)
    copy.upsert(rows, keys=["u"])
    copy.delete(f"u = '{B}'")
    assert copy.scan(f"u = '{A}'").to_arrow().to_pylist() == [ROW]


def test_pandas_and_polars_take_the_rows(table: ice.Table) -> None:
    scan = table.scan(selected_fields=("u", "s"))  # pandas takes no lists of fixed bytes
    assert scan.to_pandas()["u"].tolist().count(A) == 1
    assert scan.changes().to_pandas()["u"].tolist().count(A) == 1
    frame = pl.DataFrame(table.scan("n = 1").to_arrow().select(["u", "many"]))
    assert frame.row(0) == (A.bytes, [A.bytes, None])
