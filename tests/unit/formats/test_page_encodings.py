"""Which rare codecs and encodings a Parquet footer names: parquet.thrift."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.formats.parquet_head import rare_encodings
from iceberg_spark.formats.thrift_compact import read_struct

ROWS = pa.table({"id": pa.array(range(100), pa.int64()), "x": pa.array([0.5] * 100)})
CODEC = {"SNAPPY": b"\x02", "LZO": b"\x06", "BROTLI": b"\x08", "LZ4": b"\x0a", "LZ4_RAW": b"\x0e"}


def footer(rows: pa.Table = ROWS, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, **options)
    data = sink.getvalue().to_pybytes()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def with_codec(name: str) -> bytes:
    """A footer of a codec that pyarrow can't write under that name."""
    written = footer(compression="snappy", column_encoding="PLAIN", use_dictionary=False)
    changed = written.replace(b"\x15\x02\x16", b"\x15" + CODEC[name] + b"\x16")
    assert read_struct(changed)[4][0][1][0][3][4] == CODEC[name][0] // 2
    return changed


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
def test_usual_codecs_and_encodings_are_none_of_the_rare_ones(codec: str, version: str) -> None:
    assert rare_encodings(footer(compression=codec, version=version, row_group_size=10)) == ()


@pytest.mark.parametrize("name", ["LZO", "BROTLI", "LZ4"])
def test_rare_codecs_are_named(name: str) -> None:
    assert rare_encodings(with_codec(name)) == (name,)


def test_lz4_of_parquet_mr_has_hadoops_frame() -> None:
    changed = with_codec("LZ4")
    (writer,) = [value for key, value in read_struct(changed).items() if key == 6]
    java = b"parquet-mr version 1.16.0 (build".ljust(len(writer), b"x")[: len(writer)]
    assert rare_encodings(changed.replace(writer, java)) == ()


def test_a_byte_stream_split_column_is_noticed_in_any_row_group() -> None:
    options = {"use_dictionary": False, "column_encoding": {"x": "BYTE_STREAM_SPLIT"}}
    assert rare_encodings(footer(**options)) == ("BYTE_STREAM_SPLIT",)
    assert rare_encodings(footer(compression="brotli", **options)) == (
        "BROTLI",
        "BYTE_STREAM_SPLIT",
    )


def test_other_bytes_that_look_like_a_rare_codec_are_not_mistaken_for_one() -> None:
    looks = pa.table({"b": pa.array([b"\x15\x08\x16\x19\x15\x12"])})
    written = footer(looks)
    assert b"\x15\x08\x16" in written
    assert rare_encodings(written) == ()
