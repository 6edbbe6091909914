"""Codecs and encodings of Parquet pages that only some readers support, from a file's footer.

Source: parquet.thrift, `ColumnMetaData`, `CompressionCodec`, `Encoding`.
"""

from __future__ import annotations

import re

from iceberg_spark.formats.thrift_compact import Struct, read_struct

_ROW_GROUPS, _CREATED_BY = 4, 6
_COLUMNS, _METADATA = 1, 3
_ENCODINGS, _CODEC = 2, 4
_CODECS = {3: "LZO", 4: "BROTLI", 5: "LZ4"}
_LZ4 = 5
_BYTE_STREAM_SPLIT = 9
_HADOOPS_WRITER = b"parquet-mr"

_LIKELY_CODEC = re.compile(rb"\x15[\x06\x08\x0a]\x16")
"""Field `codec` with one of these values and the head of field `num_values` that follows."""
_LIKELY_ENCODING = re.compile(rb"\x19[\x15\x25\x35\x45\x55\x65\x75\x85\x95][\x00-\x10]*\x12")
"""Field `encodings`, a list with BYTE_STREAM_SPLIT among its numbers."""


def rare_encodings(footer: bytes) -> tuple[str, ...]:
    """Return the rare codecs and encodings of a file's pages: LZO, BROTLI, LZ4, BYTE_STREAM_SPLIT.

    LZ4 is left out for files of parquet-mr, which frames its blocks as Hadoop does. Other writers
    have written blocks without that frame under the same name; Hadoop's codec can't read those.
    Raises ValueError for a footer that can't be parsed.
    """
    # To search bytes takes microseconds, to parse a footer milliseconds. Statistics may hold the
    # same bytes by chance, but no footer with a rare encoding lacks them.
    likely = _LIKELY_CODEC.search(footer) or _LIKELY_ENCODING.search(footer)
    return _rare_in(read_struct(footer)) if likely else ()


def _rare_in(footer: Struct) -> tuple[str, ...]:
    chunks = [
        chunk[_METADATA]
        for group in footer.get(_ROW_GROUPS, ())
        for chunk in group.get(_COLUMNS, ())
        if _METADATA in chunk
    ]
    codecs = {chunk.get(_CODEC) for chunk in chunks}
    if footer.get(_CREATED_BY, b"").startswith(_HADOOPS_WRITER):
        codecs.discard(_LZ4)
    names = [name for codec, name in _CODECS.items() if codec in codecs]
    if any(_BYTE_STREAM_SPLIT in chunk.get(_ENCODINGS, ()) for chunk in chunks):
        names.append("BYTE_STREAM_SPLIT")
    return tuple(names)
