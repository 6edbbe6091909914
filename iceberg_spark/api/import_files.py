"""Parquet files as they lie, described so that they can be added to a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.name_mapping import NameMapping


@dataclass(frozen=True, slots=True)
class ImportedFiles:
    """Files to add, and the name mapping to set with them (None: the table has one)."""

    files: tuple[DataFile, ...]
    name_mapping: NameMapping | None


def files_to_add(
    metadata: TableMetadata, io: FileIO, paths: str | Sequence[str]
) -> ImportedFiles:
    """Describe files or a Hive-style folder for a table."""
    raise UnsupportedError("add_files is on its way")
