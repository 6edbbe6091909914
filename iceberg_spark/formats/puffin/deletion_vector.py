"""Deletion vectors as bytes: the blob `deletion-vector-v1` (puffin-spec).

Length, magic, bitmap, CRC: the length and the checksum big-endian, as Delta has them.
"""

from __future__ import annotations

import zlib

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.puffin.blobs import BlobMetadata, NewBlob
from iceberg_spark.formats.roaring.decode import from_roaring
from iceberg_spark.formats.roaring.encode import to_roaring
from iceberg_spark.spec.reserved import POS_ID

DELETION_VECTOR = "deletion-vector-v1"
REFERENCED_DATA_FILE = "referenced-data-file"
CARDINALITY = "cardinality"
_MAGIC = b"\xd1\xd3\x39\x64"
_LENGTH, _CRC = 4, 4


def vector_blob(positions: PositionSet, data_path: str) -> NewBlob:
    """Return the blob of the deleted positions of a data file."""
    properties = {REFERENCED_DATA_FILE: data_path, CARDINALITY: str(positions.count)}
    return NewBlob(DELETION_VECTOR, to_bytes(positions), (POS_ID,), properties=properties)


def to_bytes(positions: PositionSet) -> bytes:
    """Return the bytes of a deletion vector."""
    vector = _MAGIC + to_roaring(positions)
    return b"".join((len(vector).to_bytes(4, "big"), vector, zlib.crc32(vector).to_bytes(4, "big")))


def from_bytes(data: bytes, where: str, *, rows: int, cardinality: int) -> PositionSet:
    """Return the positions of a deletion vector that are below `rows`.

    Java tolerates positions past the end of the data file, and so does this. Raises
    CorruptFileError naming `where` for a wrong length, magic, checksum or number of positions,
    and for an invalid bitmap.
    """
    length = int.from_bytes(data[:_LENGTH], "big")
    if len(data) < _LENGTH + len(_MAGIC) + _CRC or length != len(data) - _LENGTH - _CRC:
        raise CorruptFileError(
            f"{where} is not a deletion vector: its length field is {length} bytes, but it has "
            f"{max(0, len(data) - _LENGTH - _CRC)}"
        )
    vector = memoryview(data)[_LENGTH:-_CRC]
    if vector[: len(_MAGIC)] != _MAGIC:
        raise CorruptFileError(f"{where} is no deletion vector: it lacks the mark of one")
    if zlib.crc32(vector) != int.from_bytes(data[-_CRC:], "big"):
        raise CorruptFileError(f"{where} is damaged: its checksum is another")
    try:
        return from_roaring(vector[len(_MAGIC) :], below=rows, count=cardinality)
    except CorruptFileError as cause:
        raise CorruptFileError(f"{where} is damaged: {cause}") from cause


def is_vector_of(blob: BlobMetadata, data_path: str) -> bool:
    """Return whether a blob is the deletion vector of a data file."""
    return blob.type == DELETION_VECTOR and blob.properties.get(REFERENCED_DATA_FILE) == data_path
