"""Parquet footers of planned files.

`FOOTERS` bounds how many are read for one DataFrame; each file is read once in a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from iceberg_spark.arrow.file_fields import has_own_ids
from iceberg_spark.errors import CorruptFileError, IcebergError, NoSuchFileError
from iceberg_spark.formats.data_file import check_counts
from iceberg_spark.formats.parquet_head import FooterHead, read_footer_head
from iceberg_spark.io import location
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.split import Longs
from iceberg_spark.spark.reading.limits import FOOTERS

ListedFile: TypeAlias = tuple[str, int, int]
"""The path, the size in bytes and the rows of a file."""


def footer_limit(plan: ScanPlan) -> int:
    """Return the number of files of a plan whose footers may be read."""
    return FOOTERS.local if _are_local(plan) else FOOTERS.of_stores


def footers(plan: ScanPlan, rows: Longs) -> list[FooterHead | None]:
    """Return the footers of planned files, None for those that cannot be read.

    Raises CorruptFileError for a file whose rows or bytes differ from the metadata. A file without
    field ids in a table without a name mapping is not checked: another engine reads it.
    """
    files = listed_files(plan, rows)
    return read_footers(plan.context.io, files, has_mapping=bool(plan.context.name_mapping))


def listed_files(plan: ScanPlan, rows: Longs) -> tuple[ListedFile, ...]:
    """Return planned files as the metadata lists them."""
    columns = plan.files.select(["file_path", "file_size_in_bytes", "record_count"])
    return tuple(zip(*columns.take(pa.array(rows)).to_pydict().values(), strict=True))


def read_footers(
    io: FileIO, files: Sequence[ListedFile], *, has_mapping: bool
) -> list[FooterHead | None]:
    """Return the footers of listed files, as `footers` does."""
    reader = _Footers(io, has_mapping)
    if all(location.is_local(path) for path, _, _ in files):
        return [reader.head(*file) for file in files]  # threads only cost: the work is in Python
    with ThreadPoolExecutor(FOOTERS.readers, thread_name_prefix="footers") as pool:
        return list(pool.map(lambda file: reader.head(*file), files))


def _are_local(plan: ScanPlan) -> bool:
    return all(location.is_local(path) for path in plan.files.column("file_path").to_pylist())


class _UnreadableError(CorruptFileError):
    """A footer cannot be read. The engine that reads the file raises the error."""


@dataclass(slots=True)
class _Footers:
    """Reads footers until the store cannot be reached."""

    io: FileIO
    has_mapping: bool
    is_unreachable: bool = False

    def head(self, path: str, size: int, rows: int) -> FooterHead | None:
        if self.is_unreachable:
            return None
        key = ("footer", storage_server(self.io, path), path, size, rows, self.has_mapping)
        try:
            head: FooterHead = process_cache().get_or_load(
                key, lambda: (self._checked(path, size, rows), FOOTERS.kept_bytes)
            )
        except (NoSuchFileError, _UnreadableError):
            return None
        except CorruptFileError:
            raise
        except IcebergError:
            self.is_unreachable = True
            return None
        return head

    def _checked(self, path: str, size: int, rows: int) -> FooterHead:
        try:
            head = read_footer_head(self.io, path)
        except CorruptFileError as cause:
            raise _UnreadableError(str(cause)) from cause
        if self.has_mapping or has_own_ids(head.columns.fields):
            check_counts(path, size=(head.file_size, size), rows=(head.rows, rows))
        return head
