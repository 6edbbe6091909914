"""A folder of Parquet files, Hive-style or flat, as entries for a table."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.write.describe_imported import data_file_from_parquet, partition_values_from_path
from iceberg_spark.write.hive_paths import folder_parts

_HIDDEN = ("_", ".")
_THREADS = 8  # footers are small reads, most of the time is waiting for them


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Which files of a folder are taken, by texts of its partition folders, and by how many threads
    their footers are read.
    """

    partition_filter: Mapping[str, str] = field(default_factory=dict)
    parallelism: int = _THREADS

    def takes(self, path: str, root: str) -> bool:
        """Return whether a file lies in the folders that are asked for."""
        if not self.partition_filter:
            return True
        parts = dict(folder_parts(path, root))
        return all(parts.get(name) == value for name, value in self.partition_filter.items())


ALL = ImportOptions()


def import_folder(
    io: FileIO, root: str, metadata: TableMetadata, options: ImportOptions = ALL
) -> tuple[DataFile, ...]:
    """Return the entries of all Parquet files below a folder, for the table's default spec.

    Partition values come from folder names (`column=value`, escaped;
    `__HIVE_DEFAULT_PARTITION__` is null), where there are none from the files' statistics.
    Files and folders whose names start with `_` or `.` are passed over, as Spark does. Raises
    InvalidInputError for a folder without such files, and what `data_file_from_parquet` raises.
    """
    taken = [(path, root) for path in parquet_files(io, root) if options.takes(path, root)]
    return import_files(io, taken, metadata, options)


def parquet_files(io: FileIO, root: str) -> list[str]:
    """Return the Parquet files below a folder, sorted. Raises InvalidInputError for none."""
    paths = sorted(info.path for info in io.list(root) if info.size and _is_data(info.path, root))
    if not paths:
        raise InvalidInputError(f"No Parquet file is below {root}")
    return paths


def import_files(
    io: FileIO,
    files: list[tuple[str, str]],
    metadata: TableMetadata,
    options: ImportOptions = ALL,
) -> tuple[DataFile, ...]:
    """Return the entries of Parquet files, each given with the folder that partitions start at."""
    spec = metadata.spec

    def entry(file: tuple[str, str]) -> DataFile:
        path, root = file
        values: tuple[Any, ...] | None = None
        if spec.fields:
            values = partition_values_from_path(path, root, spec, metadata.schema)
        return data_file_from_parquet(io, path, metadata, spec, values)

    with ThreadPoolExecutor(options.parallelism, "iceberg-footers") as pool:
        return tuple(pool.map(entry, files))


def _is_data(path: str, root: str) -> bool:
    below = path.removeprefix(root.rstrip("/")).strip("/").split("/")
    hidden = any(part.startswith(_HIDDEN) and "=" not in part for part in below)
    return not hidden and location.name(path).lower().endswith((".parquet", ".parq"))
