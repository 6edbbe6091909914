"""Manifests as entry tables, a few of them read ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.types import StructType

Item = TypeVar("Item")
Result = TypeVar("Result")


def entry_tables(
    io: FileIO,
    manifests: Sequence[ManifestFile],
    partition_types: Mapping[int, StructType],
    columns: Sequence[str],
) -> Iterator[pa.Table]:
    """Yield the entries of each manifest, in order; few tables exist at a time."""

    def read(manifest: ManifestFile) -> pa.Table:
        kind = partition_types[manifest.partition_spec_id]
        return read_manifest(io, manifest, kind, columns=columns)

    yield from read_ahead(read, manifests)


def read_ahead(read: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield the result of `read` for each item, in order; threads read some ahead."""
    if len(items) < 2:
        yield from map(read, items)
        return
    with ThreadPoolExecutor(PLANNING.manifest_readers, thread_name_prefix="manifest") as pool:
        ahead: deque[Future[Result]] = deque()
        try:
            for item in items:
                ahead.append(pool.submit(read, item))
                if len(ahead) > PLANNING.manifest_readers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for waiting in ahead:
                waiting.cancel()
