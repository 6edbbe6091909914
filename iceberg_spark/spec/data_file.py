"""Data and delete files and their manifest entries as values (specification: "Manifests")."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import wraps
from typing import Any, TypeAlias

_RENAMED = "DataFile.spec_id is now partition_spec_id, as the specification names it"


class DataFileContent(IntEnum):
    """The content of a file, as stored in manifests."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


class FileFormat(StrEnum):
    """File format in its canonical (manifest) spelling, upper case as Java writes it."""

    AVRO = "AVRO"
    ORC = "ORC"
    PARQUET = "PARQUET"
    PUFFIN = "PUFFIN"


ROW_FORMATS = (FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO)
"""The formats of files that have rows."""

ROW_FORMAT_NAMES = tuple(name.lower() for name in ROW_FORMATS)
"""As users, Spark and table properties call them."""


class ManifestEntryStatus(IntEnum):
    """Status of a manifest entry."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


DeleteKey: TypeAlias = tuple[str, int | None, str | None]
"""File path, offset in it and data file of a deletion vector; the path alone of another file."""


def delete_key(
    file_path: str, offset: int | None, referenced: str | None, file_format: FileFormat
) -> DeleteKey:
    """Return the key that identifies a file in its table; many vectors share a Puffin file."""
    if file_format is FileFormat.PUFFIN:
        return file_path, offset, referenced
    return file_path, None, None


def only_path(lower: bytes | None, upper: bytes | None) -> str | None:
    """Return the one data file of a position delete file, by the bounds of its `file_path`.

    None where they differ or are not text. Source: Java's ContentFileUtil.referencedDataFile.
    """
    if lower is None or lower != upper:
        return None
    try:
        return lower.decode()
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data or delete file: its path, partition and metrics.

    `partition` holds canonical values (`spec.values`) in the order of the fields of the spec
    `partition_spec_id`, which is not stored in the entry: its manifest has it. Sizes are bytes,
    counts are rows or values, metrics are keyed by field id, bounds are single-value binary.
    """

    content: DataFileContent
    file_path: str
    file_format: FileFormat
    partition: tuple[Any, ...]  # canonical values of any type
    record_count: int
    file_size_in_bytes: int
    partition_spec_id: int = 0
    column_sizes: Mapping[int, int] | None = None
    value_counts: Mapping[int, int] | None = None
    null_value_counts: Mapping[int, int] | None = None
    nan_value_counts: Mapping[int, int] | None = None
    lower_bounds: Mapping[int, bytes] | None = None
    upper_bounds: Mapping[int, bytes] | None = None
    key_metadata: bytes | None = None
    split_offsets: tuple[int, ...] | None = None
    equality_ids: tuple[int, ...] | None = None
    sort_order_id: int | None = None
    first_row_id: int | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size_in_bytes: int | None = None

    @property
    def is_vector(self) -> bool:
        """Whether it is a deletion vector: the bytes from its offset on, of a file of several."""
        return self.file_format is FileFormat.PUFFIN

    @property
    def key(self) -> DeleteKey:
        """Identifies the file within its table."""
        return delete_key(
            self.file_path, self.content_offset, self.referenced_data_file, self.file_format
        )

    @property
    def spec_id(self) -> int:
        """The former name of `partition_spec_id`; warns."""
        warnings.warn(_RENAMED, DeprecationWarning, stacklevel=2)
        return self.partition_spec_id


# The keyword of this name keeps working for those who build files for `overwrite_files`.
_init = DataFile.__init__


@wraps(_init)
def _init_by_either_name(self: DataFile, *args: Any, **named: Any) -> None:  # any field's value
    if "spec_id" in named:
        warnings.warn(_RENAMED, DeprecationWarning, stacklevel=2)
        named["partition_spec_id"] = named.pop("spec_id")
    _init(self, *args, **named)


DataFile.__init__ = _init_by_either_name  # type: ignore[method-assign]


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A file's entry in a manifest; None means inherited.

    Source: specification, "Sequence Number Inheritance".
    """

    status: ManifestEntryStatus
    data_file: DataFile
    snapshot_id: int | None = None
    data_sequence_number: int | None = None
    file_sequence_number: int | None = None
