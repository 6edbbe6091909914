"""Avro data and delete files (specification, Appendix A: "Avro")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa

from iceberg_spark.formats.avro.schema import avro_record
from iceberg_spark.formats.avro.writer import write_avro
from iceberg_spark.formats.file_writer import WriterProperties, WrittenFile
from iceberg_spark.formats.metrics import Metrics
from iceberg_spark.spec.schema import Schema

_SYNC_BYTES = 16
_CODECS = {
    "gzip": "gzip",
    "deflate": "gzip",
    "zlib": "gzip",
    "zstd": "zstd",
    "zstandard": "zstd",
    "snappy": "snappy",
    "uncompressed": "uncompressed",
    "none": "uncompressed",
    "null": "uncompressed",
}


@dataclass(frozen=True, slots=True)
class AvroLayout:
    """The part of a file's layout that all files of one writer share."""

    record: Mapping[str, Any]
    target: pa.Schema
    codec: str
    key_values: Mapping[str, str]


def avro_layout(
    schema: Schema, target: pa.Schema, properties: WriterProperties, key_values: Mapping[str, str]
) -> AvroLayout:
    """Return the layout of files of a schema; `target` is its Arrow schema.

    Codecs have one level each here: `write.avro.compression-level` is a hint that is not taken.
    Raises InvalidOptionError naming the property of a bad codec.
    """
    codec = properties.codec("avro", "gzip", _CODECS)
    return AvroLayout(avro_record(schema.as_struct(), "table"), target, codec, key_values)


class AvroFileWriter:
    """Writes one Avro file to an open sink; its only metric is the count of records, as Java's."""

    __slots__ = ("_layout", "_rows", "_sink", "_sync")

    def __init__(self, sink: BinaryIO, layout: AvroLayout) -> None:
        self._sink = sink
        self._layout = layout
        self._rows = 0
        self._sync: bytes | None = None

    @property
    def bytes_written(self) -> int:
        """Bytes that are in the file so far."""
        return self._sink.tell()

    def write(self, table: pa.Table) -> None:
        """Encode a table as blocks."""
        layout = self._layout
        parts = write_avro(layout.record, table, metadata=layout.key_values, codec=layout.codec)
        header = next(parts)
        if self._sync is None:  # a header and every block end with the file's marker
            self._sync = header[-_SYNC_BYTES:]
            self._sink.write(header)
        for block in parts:
            self._sink.write(block[:-_SYNC_BYTES])
            self._sink.write(self._sync)
        self._rows += table.num_rows

    def close(self) -> WrittenFile:
        """Finish the file and close the sink."""
        if self._sync is None:
            self.write(self._layout.target.empty_table())
        size = self._sink.tell()
        self._sink.close()
        return WrittenFile(size, Metrics(self._rows))

    def abort(self) -> None:
        """Abandon the file; written data stays until it is deleted."""
