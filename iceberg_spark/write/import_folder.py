"""A folder of Parquet, ORC or Avro files, Hive-style or flat, as entries for a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.formats.open_file import named_format
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo, FileIO
from iceberg_spark.spec.data_file import DataFile, FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.write.describe_imported import imported_data_file, partition_values_from_path
from iceberg_spark.write.hive_paths import folder_parts

_HIDDEN = ("_", ".")
_NEVER_METADATA = (FileFormat.PARQUET, FileFormat.ORC)  # manifests are Avro files
_METADATA = "metadata"
_THREADS = 8  # footers are small reads, most of the time is waiting for them


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Which files of a folder are taken, by texts of its partition folders, and by how many threads
    their footers are read; the zone of wall clocks in names of folders.
    """

    partition_filter: Mapping[str, str] = field(default_factory=dict)
    parallelism: int = _THREADS
    time_zone: str = "UTC"

    def takes(self, path: str, root: str) -> bool:
        """Return whether a file is in the selected partition folders."""
        if not self.partition_filter:
            return True
        parts = dict(folder_parts(path, root))
        return all(parts.get(name) == value for name, value in self.partition_filter.items())


ALL = ImportOptions()


def import_folder(
    io: FileIO, root: str, metadata: TableMetadata, options: ImportOptions = ALL
) -> tuple[DataFile, ...]:
    """Return the entries of all data files below a folder, for the table's default spec.

    Partition values come from folder names (`column=value`, escaped;
    `__HIVE_DEFAULT_PARTITION__` is null), else from the files' statistics. Files and folders whose
    names start with `_` or `.` are skipped, like in Spark; any other file is a data file,
    whatever its extension (Hive's are called `000000_0`): Parquet unless it starts like ORC or
    Avro. Raises InvalidInputError for a folder without files, or with partitions that the table
    lacks, and as `imported_data_file` does.
    """
    taken = [(path, root) for path in row_files(io, root) if options.takes(path, root)]
    if not metadata.spec.fields:
        _check_flat(taken)
    return import_files(io, taken, metadata, options)


def _check_flat(files: list[tuple[str, str]]) -> None:
    """Refuse partitions of a folder, whose columns a table without partitions would lose."""
    for path, root in files:
        parts = folder_parts(path, root)
        if parts:
            raise InvalidInputError(
                f"{path}: its folders name {', '.join(name for name, _ in parts)}, the table is "
                "partitioned by nothing. Add the files one by one where their columns are in them"
            )


def row_files(io: FileIO, root: str) -> list[str]:
    """Return the files of rows below a folder, sorted. Raises InvalidInputError for none."""
    paths = _row_files(io.list(root), root)
    if not paths:
        raise InvalidInputError(f"No Parquet file is below {root}, nor one of ORC or Avro")
    return paths


def check_same_files(
    io: FileIO, root: str, files: Iterable[str], name: str, options: ImportOptions = ALL
) -> None:
    """Refuse a table whose catalog lists other files than its folder contains.

    A partition may have been dropped with its files kept, or may be elsewhere. `files` are the data
    files of the table, limited to the selected partitions. Raises InvalidInputError.
    """
    listed = list(io.list(root))
    there = {location.normalise(info.path) for info in listed}
    read = {location.normalise(path) for path in files}
    elsewhere = sorted(read - there)
    if elsewhere:
        raise InvalidInputError(
            f"{name} has rows outside of its folder {root}, as in {elsewhere[0]}: partitions with "
            "a location of their own can't be taken in with it. Add their folders by add_files"
        )
    taken = (path for path in _row_files(listed, root) if options.takes(path, root))
    left = next((path for path in taken if location.normalise(path) not in read), None)
    if left is not None:
        raise InvalidInputError(
            f"{left} is in the folder of {name} but not a part of that table: remove such files, "
            f"or register them in Spark (MSCK REPAIR TABLE {name}), "
            f"or import the folder {root} itself"
        )


def import_files(
    io: FileIO,
    files: list[tuple[str, str]],
    metadata: TableMetadata,
    options: ImportOptions = ALL,
) -> tuple[DataFile, ...]:
    """Return the entries of data files, each passed with the root of its partition folders."""
    spec = metadata.spec

    def entry(file: tuple[str, str]) -> DataFile:
        path, root = file
        values: tuple[Any, ...] | None = None
        if spec.fields:
            zone = options.time_zone
            values = partition_values_from_path(path, root, spec, metadata.schema, zone)
        return imported_data_file(io, path, metadata, spec, values)

    with ThreadPoolExecutor(options.parallelism, "iceberg-footers") as pool:
        return tuple(pool.map(entry, files))


def _row_files(listed: Iterable[FileInfo], root: str) -> list[str]:
    paths = sorted(info.path for info in listed if info.size)
    below = {path: path.removeprefix(root.rstrip("/")).strip("/").split("/") for path in paths}
    # A migrated folder contains the metadata of its table.
    is_table = any(
        parts[0] == _METADATA and ".metadata.json" in parts[-1] for parts in below.values()
    )
    return [path for path in paths if _is_data(below[path], is_table=is_table)]


def _is_data(below: list[str], *, is_table: bool) -> bool:
    hidden = any(part.startswith(_HIDDEN) and "=" not in part for part in below)
    is_metadata = is_table and below[0] == _METADATA
    return not hidden and not (is_metadata and named_format(below[-1]) not in _NEVER_METADATA)
