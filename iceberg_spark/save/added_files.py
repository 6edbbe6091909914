"""Files as they lie, described so that they can be added to a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from iceberg_spark.catalog.table_name import table_name
from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.formats.open_file import named_format
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.arguments import check_int, format_value
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.name_mapping import NameMapping, from_schema
from iceberg_spark.spec.properties import DEFAULT_NAME_MAPPING
from iceberg_spark.write.import_folder import (
    ALL,
    ImportOptions,
    import_files,
    import_folder,
)


@dataclass(frozen=True, slots=True)
class ImportedFiles:
    """Files to add, and the name mapping to set with them (None: the table has one)."""

    files: tuple[DataFile, ...]
    name_mapping: NameMapping | None


def import_options(
    metadata: TableMetadata,
    partition_filter: Mapping[str, object] | None,
    parallelism: int,
    time_zone: str | None,
) -> ImportOptions:
    """Check which partitions are asked for, and the number of threads; without a zone it is UTC.

    Raises InvalidInputError.
    """
    names = [field.name for field in metadata.spec.fields]
    for name in partition_filter or ():
        if name not in names:
            raise InvalidInputError(
                f"partition_filter names '{name}', and the table is partitioned by "
                f"{', '.join(names) or 'nothing'}"
            )
    threads = check_int(parallelism, "parallelism")
    if threads < 1:
        raise InvalidInputError(f"parallelism must be at least 1, not {threads}")
    texts = {name: str(value) for name, value in (partition_filter or {}).items()}
    return ImportOptions(texts, threads, time_zone or "UTC")


def files_to_add(
    metadata: TableMetadata,
    io: FileIO,
    paths: str | Sequence[str],
    options: ImportOptions = ALL,
) -> ImportedFiles:
    """Describe files, or all of Hive-style folders, for the table's default spec.

    Raises InvalidInputError, InvalidSchemaError (a file that does not fit the table),
    CorruptFileError, NoSuchFileError.
    """
    locations = [location.with_scheme_of(path, metadata.location) for path in _locations(paths)]
    with ThreadPoolExecutor(options.parallelism, "iceberg-paths") as pool:
        pairs = list(
            zip(locations, pool.map(lambda path: _is_folder(io, path), locations), strict=True)
        )
    folders = [path for path, is_folder in pairs if is_folder]
    single = [path for path, is_folder in pairs if not is_folder]
    rooted = [(path, _hive_root(path)) for path in single]
    taken = [pair for pair in rooted if options.takes(*pair)]
    files = import_files(io, taken, metadata, options)
    for folder in folders:
        files += import_folder(io, folder, metadata, options)
    if not files:
        raise InvalidInputError(
            "No files to add: pass Parquet, ORC or Avro files, or a folder of them"
        )
    mapping = None if DEFAULT_NAME_MAPPING in metadata.properties else from_schema(metadata.schema)
    return ImportedFiles(files, mapping)


def _locations(paths: object) -> tuple[str, ...]:
    several = paths if isinstance(paths, list | tuple | set) else (paths,)
    if not all(isinstance(path, str | os.PathLike) for path in several):
        raise InvalidTypeError(
            "add_files takes locations of Parquet files, of ORC or Avro ones, or of folders, not "
            f"{format_value(paths)}"
        )
    return tuple(table_name(path) for path in several)


def _is_folder(io: FileIO, path: str) -> bool:
    """Return whether a path is no file; people let Spark write folders called `rows.parquet`."""
    return named_format(path) is None or (not io.exists(path) and any(io.list(path)))


def _hive_root(path: str) -> str:
    """Return the folder that the first `column=value` folder of a file's path lies in."""
    folder = location.parent(path)
    root = folder
    while "=" in location.name(folder):
        root = folder = location.parent(folder)
    return root
