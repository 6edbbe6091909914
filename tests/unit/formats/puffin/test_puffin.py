"""Puffin files written and read, and what is refused in them."""

import json
import re
import sys
import uuid
from pathlib import Path

import cramjam
import pytest

from iceberg_spark.errors import CorruptFileError, InvalidInputError, UnsupportedError
from iceberg_spark.formats.puffin import read_puffin
from iceberg_spark.formats.puffin.blobs import MAGIC, BlobMetadata, NewBlob
from iceberg_spark.formats.puffin.read_puffin import read_blob, read_footer
from iceberg_spark.formats.puffin.write_puffin import write_puffin
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.limits import set_limits

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

IO = FsspecIO()
BLOBS = [
    NewBlob("a", b"first", (1, 2), 7, 8, None, {"ndv": "3"}),
    NewBlob("b", b"second" * 1000, compression_codec="zstd"),
    NewBlob("ü", b""),
]


def _file(payload: bytes | str, flags: bytes = bytes(4), blobs: bytes = b"") -> str:
    """A Puffin file of a given footer."""
    stored = payload.encode() if isinstance(payload, str) else payload
    path = f"memory://puffin/{uuid.uuid4().hex}.puffin"
    size = len(stored).to_bytes(4, "little")
    IO.replace(path, MAGIC + blobs + MAGIC + stored + size + flags + MAGIC)
    return path


def _written() -> str:
    path = f"memory://puffin/{uuid.uuid4().hex}.puffin"
    write_puffin(IO, path, BLOBS, {"k": "v"})
    return path


def _described(**changed: object) -> str:
    blob = {
        "type": "t", "fields": [1], "snapshot-id": 1, "sequence-number": 1, "offset": 4, "length": 3
    }  # fmt: skip
    return json.dumps({"blobs": [blob | {k.replace("_", "-"): v for k, v in changed.items()}]})


def test_blobs_come_back():
    path = f"memory://puffin/{uuid.uuid4().hex}.puffin"
    written = write_puffin(IO, path, BLOBS, {"k": "v"})
    found = read_footer(IO, path)
    assert found == written
    assert [read_blob(IO, path, each) for each in found.blobs] == [each.data for each in BLOBS]
    assert found.blobs[0] == BlobMetadata("a", (1, 2), 7, 8, 4, 5, None, {"ndv": "3"})
    assert found.properties["k"] == "v"
    assert found.properties["created-by"].startswith("iceberg-spark")
    assert found.size == IO.size(path)


def test_a_zstd_blob_says_the_size_of_its_content():
    path = _written()
    blob = read_footer(IO, path).blobs[1]
    stored = IO.read_bytes(path)[blob.offset : blob.offset + blob.length]
    assert zstd.get_frame_info(stored).decompressed_size == 6000


def test_a_file_of_no_blobs_is_one():
    path = f"memory://puffin/{uuid.uuid4().hex}.puffin"
    write_puffin(IO, path, [])
    assert read_footer(IO, path).blobs == ()


def test_a_footer_longer_than_the_first_read_is_read(monkeypatch: pytest.MonkeyPatch):
    set_limits(monkeypatch, read_puffin, "PUFFIN", tail_bytes=20)
    assert len(read_footer(IO, _written()).blobs) == 3


def test_a_compressed_footer_is_read():
    packed = bytes(cramjam.lz4.compress(_described().encode()))
    assert read_footer(IO, _file(packed, b"\1\0\0\0", b"abc")).blobs[0].type == "t"


def test_an_lz4_blob_is_read():
    packed = bytes(cramjam.lz4.compress(b"x" * 100_000))
    path = _file(_described(length=len(packed), compression_codec="lz4"), blobs=packed)
    assert read_blob(IO, path, read_footer(IO, path).blobs[0]) == b"x" * 100_000


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_blob_may_not_grow_beyond_the_limit(codec: str):
    plain = b"\0" * (1 << 20)
    packed = bytes(cramjam.lz4.compress(plain)) if codec == "lz4" else zstd.compress(plain)
    path = _file(_described(length=len(packed), compression_codec=codec), blobs=packed)
    bounded = FsspecIO({"io.max-decompressed-bytes": "100000"})
    with pytest.raises(CorruptFileError, match=r"puffin, blob at byte 4.*io\.max-decompressed"):
        read_blob(bounded, path, read_footer(IO, path).blobs[0])


def test_an_lz4_frame_that_claims_much_is_refused_before_there_is_room_for_it():
    claims = b"\x04\x22\x4d\x18\x6c\x40" + (1 << 60).to_bytes(8, "little") + bytes(20)
    path = _file(_described(length=len(claims), compression_codec="lz4"), blobs=claims)
    with pytest.raises(CorruptFileError, match="grows beyond"):
        read_blob(IO, path, read_footer(IO, path).blobs[0])


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_blob_that_is_not_what_it_says_is_refused(codec: str):
    path = _file(_described(compression_codec=codec), blobs=b"abc")
    with pytest.raises(CorruptFileError, match="can't be decompressed"):
        read_blob(IO, path, read_footer(IO, path).blobs[0])


def test_an_unknown_codec_is_refused_by_name():
    path = _file(_described(compression_codec="brotli"), blobs=b"abc")
    with pytest.raises(UnsupportedError, match="brotli"):
        read_blob(IO, path, read_footer(IO, path).blobs[0])


@pytest.mark.parametrize("length", range(0, 200, 7))
def test_a_file_that_is_cut_off_is_refused(length: int):
    path, data = _written(), b""
    data = IO.read_bytes(path)
    IO.replace(path, data[: len(data) - 1 - length])
    with pytest.raises(CorruptFileError, match=re.escape(path)):
        read_footer(IO, path)


def test_any_byte_of_a_footer_may_be_wrong():
    path = _written()
    data = IO.read_bytes(path)
    for at in (*range(4), *range(len(data) - 200, len(data))):
        IO.replace(path, data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            found = read_footer(IO, path)
        except (CorruptFileError, UnsupportedError) as error:
            assert path in str(error)  # noqa: PT017 - either an error or a footer
        else:
            assert all(4 <= each.offset <= len(data) for each in found.blobs)


@pytest.mark.parametrize(
    "payload",
    [
        "", "[]", "{}", '{"blobs": 1}', '{"blobs": [1]}', b"\xff", "[" * 100_000,
        _described(type=1), _described(fields="x"), _described(fields=[1.5]), _described(offset=3),
        _described(offset=10**30), _described(length=-1), _described(length=4),
        _described(snapshot_id=True), _described(properties={"a": 1}),
    ],
)  # fmt: skip
def test_a_footer_of_something_else_is_refused(payload: bytes | str):
    path = _file(payload, blobs=b"abc")
    with pytest.raises(CorruptFileError, match=re.escape(path)):
        read_footer(IO, path)


@pytest.mark.parametrize("flags", [b"\2\0\0\0", b"\0\0\0\1"])
def test_flags_that_nobody_knows_are_refused(flags: bytes):
    with pytest.raises(UnsupportedError, match=flags.hex()):
        read_footer(IO, _file(_described(), flags, b"abc"))


def test_a_compressed_footer_that_is_none_is_refused():
    with pytest.raises(CorruptFileError, match=r"footer of .* can't be decompressed"):
        read_footer(IO, _file(b"abcdef", b"\1\0\0\0"))


@pytest.mark.parametrize(("offset", "length"), [(5, 1 << 60), (10**6, 3), (-1, 3), (4, -1)])
def test_a_blob_outside_of_the_file_is_refused(tmp_path: Path, offset: int, length: int):
    path = str(tmp_path / "a.puffin")
    write_puffin(IO, path, BLOBS)
    with pytest.raises(CorruptFileError, match=re.escape(path)):
        read_blob(IO, path, BlobMetadata("t", (), 1, 1, offset, length))


def test_a_codec_that_is_not_written_leaves_no_file():
    path = f"memory://puffin/{uuid.uuid4().hex}.puffin"
    with pytest.raises(InvalidInputError, match="lz4"):
        write_puffin(IO, path, [NewBlob("t", b"", compression_codec="lz4")])
    assert not IO.exists(path)
