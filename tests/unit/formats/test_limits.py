"""A few kilobytes that claim gigabytes end in an error that names the file and the limit."""

import gzip
import io
import json
import os
import re
import zlib
from pathlib import Path
from typing import Any

import cramjam
import fastavro
import pytest

from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.errors import CorruptFileError, IcebergError, InvalidOptionError, StorageError
from iceberg_spark.formats.avro.columns import read_avro_columns
from iceberg_spark.formats.avro.container import header_bytes, zigzag
from iceberg_spark.formats.avro.types import parse_record
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.io.limits import Limits, limits_of
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.printable import printable

SYNC = b"s" * 16
MEGA = 1024 * 1024


def _record(*fields: tuple[str, Any]) -> dict[str, Any]:
    columns = [
        {"name": name, "type": kind, "field-id": at} for at, (name, kind) in enumerate(fields, 1)
    ]
    return {"type": "record", "name": "top", "fields": columns}


def _file(schema: Any, rows: int, block: bytes, codec: str = "null") -> bytes:
    header = header_bytes({"avro.schema": json.dumps(schema), "avro.codec": codec}, SYNC)
    return header + zigzag(rows) + zigzag(len(block)) + block + SYNC


def _packed(data: bytes, codec: str) -> bytes:
    match codec:
        case "deflate":
            packer = zlib.compressobj(wbits=-15)
            return packer.compress(data) + packer.flush()
        case "snappy":
            packed = bytes(cramjam.snappy.compress_raw(data))
            return packed + zlib.crc32(data).to_bytes(4, "big")
        case _:
            return bytes(cramjam.zstd.compress(data))


@pytest.mark.parametrize("codec", ["deflate", "snappy", "zstandard"])
def test_a_manifest_may_not_grow_beyond_its_limit_and_the_property_raises_it(codec: str):
    plain = b"\0" * (32 * MEGA)  # as many null strings
    data = _file(_record(("c", ["null", "string"])), len(plain), _packed(plain, codec), codec)
    limits = Limits(8 * MEGA)
    with pytest.raises(CorruptFileError, match=r"/m\.avro.*io\.max-decompressed-bytes"):
        read_avro_columns(data, location="/m.avro", limits=limits)
    wide = Limits(33 * MEGA)
    assert read_avro_columns(data, location="/m.avro", limits=wide).num_rows == len(plain)


def test_many_small_blocks_together_are_bounded_too():
    block = _packed(b"\0" * MEGA, "zstandard")
    one = zigzag(MEGA) + zigzag(len(block)) + block + SYNC
    schema = json.dumps(_record(("c", ["null", "long"])))
    data = header_bytes({"avro.schema": schema, "avro.codec": "zstandard"}, SYNC) + one * 40
    with pytest.raises(CorruptFileError, match=r"/m\.avro grows beyond"):
        read_avro_columns(data, location="/m.avro")


def test_a_block_can_not_claim_more_records_than_its_bytes_hold():
    data = _file(_record(("a", "long"), ("b", ["null", "string"])), 2**33, b"\0\0")
    with pytest.raises(CorruptFileError, match=r"/m\.avro .*claims 8,589,934,592 records"):
        read_avro_columns(data, location="/m.avro")


@pytest.mark.parametrize(
    ("kind", "rows", "block"),
    [
        ("null", 2**33, b""),
        ({"type": "array", "items": "null"}, 1, zigzag(2**33) + b"\0"),
        ({"type": "array", "items": "null"}, 1, zigzag(-(2**33)) + b"\0\0"),
    ],
    ids=["records", "list elements", "list elements with a size"],
)
def test_what_takes_no_bytes_is_counted(kind: Any, rows: int, block: bytes):
    data = _file(_record(("c", kind)), rows, block)
    with pytest.raises(CorruptFileError, match=r"/m\.avro .*io\.max-empty-records"):
        read_avro_columns(data, location="/m.avro")


def test_a_list_of_nulls_below_the_limit_is_read():
    out = io.BytesIO()
    fastavro.writer(out, _record(("c", {"type": "array", "items": "null"})), [{"c": [None] * 3}])
    assert read_avro_columns(out.getvalue()).column("c").to_pylist() == [[None] * 3]


def test_null_values_of_a_huge_fixed_take_no_memory():
    kind = ["null", {"type": "fixed", "name": "f", "size": 10**9}]
    with pytest.raises(CorruptFileError, match=r"/m\.avro grows beyond"):
        read_avro_columns(_file(_record(("c", kind)), 100, b"\0" * 100), location="/m.avro")


def _doubling(levels: int) -> dict[str, Any]:
    """Named types that hold the one before twice: 2^levels types in a few kilobytes."""
    fields: list[Any] = [
        {"name": "f0", "type": {"type": "record", "name": "r0", "fields": []}, "field-id": 1}
    ]
    for at in range(1, levels):
        twice = [{"name": name, "type": f"r{at - 1}"} for name in ("a", "b")]
        kind = {"type": "record", "name": f"r{at}", "fields": twice}
        fields.append({"name": f"f{at}", "type": kind, "field-id": at + 1})
    return {"type": "record", "name": "top", "fields": fields}


def test_types_that_repeat_each_other_are_bounded():
    with pytest.raises(CorruptFileError, match=r"/m\.avro .*io\.max-avro-types"):
        parse_record(_doubling(40), "/m.avro")
    assert parse_record(_doubling(12), "/m.avro", Limits(avro_types=10**5))


def _nested(levels: int) -> Any:
    kind: Any = "int"
    for at in range(levels):
        kind = {"type": "array", "items": kind, "element-id": at}
    return kind


def test_an_avro_schema_nests_only_so_deep():
    assert parse_record(_record(("c", _nested(60))), "/m.avro")
    with pytest.raises(CorruptFileError, match=r"/m\.avro .*nests deeper than 64"):
        parse_record(_record(("c", _nested(250))), "/m.avro")
    deep = '{"type":"array","items":' * 100_000
    data = header_bytes({"avro.schema": deep, "avro.codec": "null"}, SYNC)
    with pytest.raises(CorruptFileError, match=r"/m\.avro has no readable Avro schema"):
        read_avro_columns(data, location="/m.avro")


@pytest.mark.parametrize(
    "broken",
    [
        {"fields": [{"name": "a", "type": "int"}, {"name": "a", "type": "long"}]},
        {"fields": [{"name": "a", "type": "int", "field-id": "x"}]},
        {"fields": [{"name": "a", "type": "int", "field-id": 2**40}]},
        {"fields": [{"name": "\udc80", "type": "int", "field-id": 1}]},
        {"fields": [{"name": "a", "type": {"type": "fixed", "name": "f", "size": 0}}]},
        {"fields": [{"name": "a", "type": {"type": "fixed", "name": "f", "size": 99999999999}}]},
        *(
            {
                "fields": [
                    {"name": "a", "type": {"type": "bytes", "logicalType": "decimal", **digits}}
                ]
            }
            for digits in (
                {},
                {"precision": 0},
                {"precision": 99},
                {"precision": 9, "scale": 10},
                {"precision": "9"},
            )
        ),
        {"fields": [{"name": "a", "type": {"type": "int", "logicalType": []}}]},
    ],
    ids=str,
)
def test_a_broken_avro_schema_is_an_error_that_names_the_file(broken: dict[str, Any]):
    schema = {"type": "record", "name": "top", **broken}
    with pytest.raises(CorruptFileError, match=r"/m\.avro"):
        read_avro_columns(_file(schema, 1, b"\0" * 20), location="/m.avro")


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b'{"format-version":2,"x":' * 100_000,
        b"\xff\xfe\x00",
        b"1" * 5_000,
        b'{"format-version":NaN}',
    ],
    ids=["brackets", "members", "no text", "digits", "NaN"],
)
def test_metadata_that_no_parser_stands_is_an_error_that_names_the_file(
    tmp_path: Path, text: bytes
):
    path = tmp_path / "v1.metadata.json"
    path.write_bytes(text)
    with pytest.raises(CorruptFileError, match=r"v1\.metadata\.json"):
        read_metadata(FsspecIO(), str(path))


def test_gzip_metadata_may_not_grow_beyond_its_limit(tmp_path: Path):
    path = tmp_path / "v1.gz.metadata.json"
    path.write_bytes(gzip.compress(b" " * (64 * MEGA)))
    with pytest.raises(CorruptFileError, match=r"v1\.gz.*io\.max-decompressed-bytes"):
        read_metadata(FsspecIO(), str(path))


def test_gzip_of_many_members_is_one_text(tmp_path: Path):
    path = tmp_path / "v1.gz.metadata.json"
    path.write_bytes(gzip.compress(b'{"format-version"') + gzip.compress(b":9}"))
    with pytest.raises(IcebergError, match="format-version 9"):
        read_metadata(FsspecIO(), str(path))
    path.write_bytes(gzip.compress(b"") * 5_000)
    with pytest.raises(CorruptFileError, match="parts"):
        read_metadata(FsspecIO(), str(path))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "NUL"])
def test_only_regular_files_are_opened(tmp_path: Path, kind: str):
    path = str(tmp_path / "m.avro")
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path = "/dev/zero"
        case "folder":
            path = str(tmp_path)
        case _:
            path = "/a\0b"
    store = FsspecIO()
    for read in (store.read_bytes, store.open, *(() if kind == "folder" else (store.arrow,))):
        with pytest.raises(StorageError, match="Can't"):
            read(path)
    for form in (FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO):
        with (
            pytest.raises((StorageError, CorruptFileError), match=re.escape(printable(path))),
            open_data_file(store, path, form),
        ):
            pass


def test_limits_come_from_storage_properties():
    found = limits_of({"io.max-decompressed-bytes": "5", "io.max-avro-types": "6"})
    assert found == Limits(5, 6)
    for text in ("0", "-1", "x", "1e9"):
        with pytest.raises(InvalidOptionError, match=r"io\.max-empty-records"):
            limits_of({"io.max-empty-records": text})
