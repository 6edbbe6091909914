"""The only place that creates storage, in the driver and in tasks."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO


def open_storage(properties: Mapping[str, str] | None = None) -> FileIO:
    """Return the storage that properties such as `s3.endpoint` describe; nothing is opened yet.

    Raises InvalidOptionError for a value that is no number where one is meant.
    """
    return FsspecIO(properties)
