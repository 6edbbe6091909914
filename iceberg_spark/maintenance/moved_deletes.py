"""Delete files that refer to data files, rewritten with the paths of a moved table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from iceberg_spark.arrow.file_fields import Path
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.formats.puffin.blobs import NewBlob
from iceberg_spark.formats.puffin.read_puffin import read_blob, read_footer
from iceberg_spark.formats.puffin.write_puffin import write_puffin
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.limits import EXPIRING
from iceberg_spark.maintenance.moved_paths import Move
from iceberg_spark.read.projected_rows import projected_rows
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.reserved import DELETE_FILE_PATH, DELETE_FILE_POS
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.open_file import file_shape

REFERENCED = "referenced-data-file"
_SCHEMA = Schema(DELETE_FILE_PATH, DELETE_FILE_POS)
_NAMES: Mapping[Path, int] = {(field.name,): field.field_id for field in _SCHEMA.fields}


@dataclass(frozen=True, slots=True)
class MovedDeletes:
    """Writes delete files to a staging folder; positions keep their order."""

    io: FileIO
    context: WriteContext
    move: Move
    staging: str

    @classmethod
    def of(cls, io: FileIO, metadata: TableMetadata, move: Move, staging: str) -> MovedDeletes:
        """Return the rewriter of a table's delete files."""
        return cls(io, write_context(metadata, io=io), move, staging)

    def sizes(self, files: Iterable[DeleteFile]) -> dict[str, int]:
        """Rewrite files, several at a time; return the new size in bytes by old path."""
        by_path = {file.file_path: file for file in files}
        with ThreadPoolExecutor(EXPIRING.threads) as pool:
            return dict(zip(by_path, pool.map(self._rewritten, by_path.values()), strict=True))

    def _rewritten(self, file: DeleteFile) -> int:
        path = self.move.staged(file.file_path, self.staging)
        if file.file_format is FileFormat.PUFFIN:
            return self._puffin(file, path)
        content = DataFileContent.POSITION_DELETES
        keys = {"delete-type": "position"}
        shape = file_shape(self.context, content, file.file_format, _SCHEMA, key_values=keys)
        with self.io.create(path) as sink:
            writer = shape.begin(sink, lambda: self.io.open(path))
            for batch in projected_rows(self.io, file, _SCHEMA.fields, _NAMES):
                moved = [self.move.paths(batch.column(0)), batch.column(1)]
                writer.write(pa.Table.from_arrays(moved, schema=to_arrow(_SCHEMA)))
            return writer.close().size

    def _puffin(self, file: DeleteFile, path: str) -> int:
        """Copy deletion vectors at the same offsets, with other paths."""
        footer = read_footer(self.io, file.file_path)
        blobs = (
            NewBlob(
                blob.type,
                read_blob(self.io, file.file_path, blob),
                blob.fields,
                blob.snapshot_id,
                blob.sequence_number,
                blob.compression_codec,
                {
                    key: self.move.path(value) if key == REFERENCED else value
                    for key, value in blob.properties.items()
                },
            )
            for blob in sorted(footer.blobs, key=lambda blob: blob.offset)
        )
        return write_puffin(self.io, path, blobs, footer.properties).size
