"""Keys that identify delete files, over whole columns (the counterpart of `DataFile.key`)."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.spec.data_file import DeleteKey, FileFormat

Table: TypeAlias = Any  # pyarrow ships no types

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


def shown(name: str) -> str:
    """Return the text of a file for a person."""
    path, is_one, rest = name.partition(_BETWEEN)
    offset, _, target = rest.partition(_BETWEEN)
    return f"{path} (the deletion vector of {target} at byte {offset})" if is_one else path
