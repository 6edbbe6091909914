"""Avro data files: columns by id, blocks in ranges, Java's types."""

import datetime as dt
from pathlib import Path

import fastavro
import pytest

from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.spec.data_file import FileFormat
from tests.builders import field, list_of, map_of, schema, struct
from tests.unit.formats.reading import DATA, IO, batches, read_file, spans

AVRO = FileFormat.AVRO


def record(*fields: dict) -> dict:
    return {"type": "record", "name": "table", "fields": list(fields)}


def write(path: Path, avro: dict, rows: list[dict], **options) -> None:
    with path.open("wb") as out:
        fastavro.writer(out, avro, rows, **options)


def test_columns_are_found_by_id(tmp_path: Path):
    path = tmp_path / "f"
    write(
        path,
        record(
            {"name": "a", "type": "int", "field-id": 7},
            {"name": "b", "type": ["null", "string"], "field-id": 3},
            {"name": "unused", "type": "bytes", "field-id": 4},
        ),
        [{"a": 1, "b": "x", "unused": b""}, {"a": 2, "b": None, "unused": b""}],
    )
    wanted = schema(field(3, "text", "string"), field(7, "n", "long"), field(9, "a", "int"))
    assert read_file(path, AVRO, wanted).to_pylist() == [
        {"text": "x", "n": 1, "a": None},
        {"text": None, "n": 2, "a": None},
    ]


def test_a_file_that_java_wrote():
    wanted = schema(
        field(1, "id", "long"),
        field(3, "ts", "timestamptz"),
        field(4, "ntz", "timestamp"),
        field(6, "d", "decimal(9, 2)"),
        field(7, "e", "decimal(30, 4)"),
        field(8, "dt", "date"),
        field(10, "st", struct(field(14, "a", "int"), field(15, "l", list_of(16, "string")))),
        field(11, "m", map_of(17, "string", 18, struct(field(19, "x", "double")))),
    )
    found = read_file(DATA / "java.avro", AVRO, wanted).to_pylist()
    assert len(found) == 10
    assert found[0]["st"] is None
    assert found[0]["m"] is None
    row = found[1]
    assert row["ts"] == dt.datetime(2024, 7, 1, 13, 0, 0, 123456, dt.UTC)
    assert row["ntz"] == dt.datetime.fromisoformat("2024-03-10T03:30:00.654321")
    assert (str(row["d"]), str(row["e"]), row["dt"]) == ("-4.00", "1.0000", dt.date(1960, 1, 2))
    assert row["st"] == {"a": 1, "l": ["x", "y"]}
    assert row["m"] == [("k1", {"x": 1.0})]


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_blocks_belong_to_the_range_of_the_marker_before_them(tmp_path: Path, codec: str):
    path = tmp_path / "f"
    rows = [{"a": (i * 7919) % 1_000_003} for i in range(9000)]
    avro = record({"name": "a", "type": "long", "field-id": 1})
    write(path, avro, rows, codec=codec, sync_interval=3000)
    with open_data_file(IO, str(path), AVRO) as file:
        blocks = file.container.blocks
    assert len(blocks) > 3
    marker = blocks[0].end
    second = batches(path, AVRO, ["a"], start=marker, length=1)
    assert spans(second) == [(blocks[0].rows, blocks[1].rows)]
    assert batches(path, AVRO, ["a"], start=marker + 1, length=1) == []
    step = path.stat().st_size // 5
    found = [
        b
        for i in range(0, 6 * step, step)
        for b in batches(path, AVRO, ["a"], start=i, length=step)
    ]
    assert [v for b in found for v in b.rows.column(0).to_pylist()] == [row["a"] for row in rows]
    assert [b.first_row for b in found] == [
        sum(b.rows.num_rows for b in found[:i]) for i in range(len(found))
    ]


def test_no_column_is_decoded_where_none_is_wanted(tmp_path: Path):
    path = tmp_path / "f"
    write(path, record({"name": "a", "type": "long", "field-id": 1}), [{"a": 1}] * 5)
    (found,) = batches(path, AVRO, [])
    assert (found.rows.num_rows, found.rows.num_columns) == (5, 0)


def test_an_empty_file_has_no_rows(tmp_path: Path):
    path = tmp_path / "f"
    write(path, record({"name": "a", "type": "long", "field-id": 1}), [])
    assert batches(path, AVRO, ["a"]) == []
