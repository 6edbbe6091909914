"""What is written is what fastavro reads, block by block."""

import io
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.errors import InvalidInputError, InvalidOptionError
from iceberg_spark.formats.avro.columns import read_avro_columns, read_avro_rows
from iceberg_spark.formats.avro.container import parse_container
from iceberg_spark.formats.avro.schema import avro_record
from iceberg_spark.formats.avro.writer import varints, write_avro
from tests.builders import field, list_of, map_of, struct, type_of
from tests.unit.formats.avro_files import VALUES, avro_file, on_disk, one_column

WRITTEN_CODECS = {
    "uncompressed": "null",
    "gzip": "deflate",
    "snappy": "snappy",
    "zstd": "zstandard",
}


def _written(schema: dict[str, Any], table: pa.Table, codec: str = "gzip") -> bytes:
    return b"".join(write_avro(schema, table, metadata={"k": "v"}, codec=codec))


@pytest.mark.parametrize("codec", WRITTEN_CODECS)
def test_fastavro_reads_every_codec_that_is_written(codec: str) -> None:
    table = pa.table({"c": pa.array([None, *range(40_000)], pa.int64())})
    data = _written(one_column("long"), table, codec)
    reader = fastavro.reader(io.BytesIO(data))
    assert reader.metadata["avro.codec"] == WRITTEN_CODECS[codec] and reader.metadata["k"] == "v"
    assert [row["c"] for row in reader] == [None, *range(40_000)]


def test_blocks_are_cut_near_their_size() -> None:
    table = pa.table({"c": pa.array(["x" * 100] * 5000)})
    container = parse_container(_written(one_column("string"), table, "uncompressed"), "x")
    sizes = [block.end - block.start for block in container.blocks]
    assert len(sizes) > 5 and max(sizes) < 65_000
    assert container.row_count == 5000


@pytest.mark.parametrize("kind", VALUES)
def test_every_type_is_encoded_as_fastavro_encodes_it(kind: str) -> None:
    stored = [None, *(on_disk(type_of(kind), v) for v in VALUES[kind]), None]
    theirs = avro_file(one_column(kind), [{"c": v} for v in stored])
    ours = _written(one_column(kind), read_avro_rows(theirs), "uncompressed")
    assert _records(ours) == _records(theirs)


def test_nested_types_are_encoded_as_fastavro_encodes_them() -> None:
    columns = struct(
        field(3, "l", list_of(14, struct(field(15, "x", "long"), field(16, "t", "string")))),
        field(4, "s", struct(field(17, "l", list_of(18, "date")))),
    )
    rows: list[dict[str, Any]] = [
        {
            "l": [{"x": 1, "t": ""}, None, {"x": None, "t": None}],
            "s": {"l": [1, None]},
        },
        {"l": None, "s": None},
        {"l": [], "s": {"l": []}},
    ]
    schema = avro_record(columns, "t")
    theirs = avro_file(schema, rows)
    table = read_avro_columns(theirs)
    assert _records(_written(schema, table, "uncompressed")) == _records(theirs)
    # A slice shares its memory with the whole: only its own rows may be written.
    tail = _written(schema, table.slice(1), "uncompressed")
    assert _records(tail) == _records(avro_file(schema, rows[1:]))


def test_maps_are_written_with_their_size_so_that_readers_can_skip_them() -> None:
    columns = struct(
        field(1, "by_name", map_of(10, "string", 11, "long")),
        field(2, "by_id", map_of(12, "int", 13, "binary")),
    )
    rows: list[dict[str, Any]] = [
        {
            "by_name": {"a": 1, "b": None},
            "by_id": [{"key": 1, "value": b"x"}, {"key": 2, "value": None}],
        },
        {"by_name": None, "by_id": None},
        {"by_name": {}, "by_id": []},
    ]
    schema = avro_record(columns, "t")
    table = read_avro_columns(avro_file(schema, rows))
    written = _written(schema, table, "uncompressed")
    assert list(fastavro.reader(io.BytesIO(written))) == rows
    assert read_avro_columns(written).equals(table)
    by_name = "02 03 0e 02 61 02 02 02 62 00 00"  # not null, -2, 7 bytes, a: 1, b: null, the end
    by_id = "02 03 0c 02 02 02 78 04 00 00"
    assert _records(written) == bytes.fromhex(f"{by_name} {by_id} 00 00 02 00 02 00")


def test_numbers_take_as_many_bytes_as_they_need() -> None:
    numbers = [0, -1, 63, 64, -64, -65, 2**31, -(2**63), 2**63 - 1]
    piece = varints(np.array(numbers, np.int64))
    assert piece.lengths.tolist() == [1, 1, 1, 2, 1, 2, 5, 10, 10]


def test_a_null_in_a_required_column_is_refused_by_name() -> None:
    schema = avro_record(struct(field(1, "c", "long", required=True)), "t")
    with pytest.raises(InvalidInputError, match="'c' is required"):
        _written(schema, pa.table({"c": pa.array([1, None], pa.int64())}))


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="'brotli'"):
        _written(one_column("long"), pa.table({"c": pa.array([1], pa.int64())}), "brotli")


def _records(data: bytes) -> bytes:
    container = parse_container(data, "x")
    return b"".join(data[block.start : block.end] for block in container.blocks)


def test_a_union_with_null_last_is_written_in_its_order() -> None:
    fields = [{"name": "c", "type": ["long", "null"]}]
    schema = {"type": "record", "name": "t", "fields": fields}
    table = pa.table({"c": pa.array([1, None], pa.int64())})
    assert _records(_written(schema, table, "uncompressed")) == b"\x00\x02\x02"
