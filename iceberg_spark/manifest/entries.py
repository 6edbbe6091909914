"""Entry tables to values and back, and the keys that identify delete files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, struct_of
from iceberg_spark.arrow.values import from_array, to_array
from iceberg_spark.errors import CorruptFileError, InvalidInputError
from iceberg_spark.manifest.schemas import (
    ENTRY_COLUMNS,
    PARTITION,
    entry_schema,
    partition_arrow_type,
)
from iceberg_spark.spec.data_file import (
    DataFile,
    DataFileContent,
    DeleteKey,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
)
from iceberg_spark.spec.types import StructType

Table: TypeAlias = Any  # pyarrow ships no types

_MAPS = (
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)
_LISTS = ("split_offsets", "equality_ids")
_FILE_COLUMNS = tuple(ENTRY_COLUMNS)[4:]
_PLAIN = tuple(
    name
    for name in _FILE_COLUMNS
    if name not in {*_MAPS, *_LISTS, PARTITION, "content", "file_format"}
)


def data_files(table: Table, spec_id: int, partition_type: StructType) -> list[DataFile]:
    """Return the files of an entry table as values; meant for few of them.

    Columns that the table lacks are None in the values. Raises CorruptFileError for an unknown
    file format or content.
    """
    held = {name: table.column(name).to_pylist() for name in _PLAIN if name in table.column_names}
    for name in _MAPS:
        if name in table.column_names:
            held[name] = [_as_map(pairs) for pairs in table.column(name).to_pylist()]
    for name in _LISTS:
        if name in table.column_names:
            held[name] = [v if v is None else tuple(v) for v in table.column(name).to_pylist()]
    paths = held["file_path"]
    for name, kind in (("content", DataFileContent), ("file_format", FileFormat)):
        values = table.column(name).to_pylist()
        held[name] = [known_value(kind, v, p) for v, p in zip(values, paths, strict=True)]
    if PARTITION in table.column_names:
        held[PARTITION] = _tuples(concat(table.column(PARTITION)), partition_type)
    return [
        DataFile(partition_spec_id=spec_id, **dict(zip(held, row, strict=True)))
        for row in zip(*held.values(), strict=True)
    ]


def manifest_entries(table: Table, spec_id: int, partition_type: StructType) -> list[ManifestEntry]:
    """Return the rows of an entry table as values; meant for few of them."""
    numbers = [
        table.column(name).to_pylist()
        for name in ("status", "snapshot_id", "data_sequence_number", "file_sequence_number")
    ]
    files = data_files(table, spec_id, partition_type)
    return [
        ManifestEntry(ManifestEntryStatus(status), file, snapshot, data_number, file_number)
        for file, status, snapshot, data_number, file_number in zip(files, *numbers, strict=True)
    ]


def entry_table(entries: Iterable[ManifestEntry], partition_type: StructType) -> Table:
    """Return entries as a table of all ENTRY_COLUMNS. Raises InvalidInputError, naming the file,
    for a partition tuple that the spec can't have.
    """
    rows = tuple(entries)
    files = [row.data_file for row in rows]
    schema = entry_schema(partition_type)
    columns: dict[str, Any] = {
        "status": [int(row.status) for row in rows],
        "snapshot_id": [row.snapshot_id for row in rows],
        "data_sequence_number": [row.data_sequence_number for row in rows],
        "file_sequence_number": [row.file_sequence_number for row in rows],
        "content": [int(file.content) for file in files],
        "file_format": [str(file.file_format) for file in files],
    }
    columns |= {name: [getattr(file, name) for file in files] for name in (*_PLAIN, *_LISTS)}
    columns |= {name: [_as_pairs(getattr(file, name)) for file in files] for name in _MAPS}
    arrays = {name: pa.array(values, schema.field(name).type) for name, values in columns.items()}
    arrays[PARTITION] = partition_array(files, partition_type)
    return pa.Table.from_arrays([arrays[name] for name in schema.names], schema=schema)


def partition_array(files: Sequence[DataFile], partition_type: StructType) -> Any:
    """Return the partition tuples of files as an Arrow struct named by partition field ids."""
    for file in files:
        if len(file.partition) != len(partition_type.fields):
            raise InvalidInputError(
                f"File {file.file_path} has {len(file.partition)} partition values, its spec "
                f"has {len(partition_type.fields)} fields"
            )
    children = []
    for index, field in enumerate(partition_type.fields):
        try:
            children.append(to_array(field.field_type, [file.partition[index] for file in files]))
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as wrong:
            raise InvalidInputError(
                f"A value of partition field '{field.name}' is not a {field.field_type}: {wrong}"
            ) from wrong
    return struct_of(len(files), children, partition_arrow_type(partition_type))


def _tuples(partitions: Any, partition_type: StructType) -> list[tuple[Any, ...]]:
    if not partition_type.fields:
        return [()] * len(partitions)
    columns = [
        from_array(field.field_type, partitions.field(index))
        for index, field in enumerate(partition_type.fields)
    ]
    return list(zip(*columns, strict=True))


def _as_map(pairs: Sequence[Mapping[str, Any]] | None) -> dict[int, Any] | None:
    return None if pairs is None else {pair["key"]: pair["value"] for pair in pairs}


def _as_pairs(values: Mapping[int, Any] | None) -> list[dict[str, Any]] | None:
    return None if values is None else [{"key": k, "value": v} for k, v in values.items()]


def known_value(kind: Any, value: Any, path: str) -> Any:
    """Return the enum member of a value in a manifest.

    Raises CorruptFileError naming the file for a value that the specification does not define.
    """
    try:
        return kind(value)
    except ValueError:
        raise CorruptFileError(f"File {path} has an unknown {kind.__name__}: {value}") from None


DELETE_NAME_COLUMNS = ("file_path", "file_format", "content_offset", "referenced_data_file")
"""The columns of ENTRY_COLUMNS that `delete_names` needs."""
_BETWEEN = "\0"  # in no path


def is_vector(entries: Table) -> Any:
    """Return which files are deletion vectors."""
    return pc.equal(concat(entries.column("file_format")), FileFormat.PUFFIN.value)


def delete_names(entries: Table) -> Any:
    """Return a text for each file: its path, and of a deletion vector offset and data file too."""
    paths, vectors = concat(entries.column("file_path")), is_vector(entries)
    if not pc.any(vectors, min_count=0).as_py():
        return paths
    offsets = pc.fill_null(concat(entries.column("content_offset")).cast(pa.string()), "")
    targets = pc.fill_null(concat(entries.column("referenced_data_file")), "")
    joined = pc.binary_join_element_wise(paths, offsets, targets, _BETWEEN)
    return pc.if_else(vectors, joined, paths)


def name_of(key: DeleteKey) -> str:
    """Return the text form of a file's key."""
    path, offset, target = key
    if offset is None and target is None:
        return path
    return _BETWEEN.join((path, "" if offset is None else str(offset), target or ""))


def show_path(name: str) -> str:
    """Return the text of a file for a person."""
    path, is_one, rest = name.partition(_BETWEEN)
    offset, _, target = rest.partition(_BETWEEN)
    return f"{path} (the deletion vector of {target} at byte {offset})" if is_one else path
