"""The only place that creates storage, in the driver and in tasks."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.io.remote_signing import RequestSigner


def open_storage(
    properties: Mapping[str, str] | None = None, signer: RequestSigner | None = None
) -> FileIO:
    """Return the storage that properties such as `s3.endpoint` describe; nothing is opened yet.

    `signer` signs the requests to S3, for which no keys are used then.

    Raises InvalidOptionError for a value that is no number where one is meant.
    """
    return FsspecIO(properties, signer)
