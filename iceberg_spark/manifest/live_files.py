"""The live files of many manifests: paths and contents only, decoded together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import field_id
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.avro.columns import read_avro_files
from iceberg_spark.spec.data_file import ManifestEntryStatus

Table: TypeAlias = Any  # pyarrow ships no types

FILES = pa.schema([("file_path", pa.string()), ("content", pa.int32())])
"""A live file of a manifest: its path and `DataFileContent`."""

_STATUS, _PATH, _CONTENT = 0, 100, 134  # field ids (specification: "Manifests")
_RECORDS = (2, 102)  # data_file and its partition


def live_files(manifests: Iterable[tuple[str, bytes]]) -> Iterator[Table]:
    """Yield tables of FILES: the files that manifests, (location, bytes), have added or existing.

    Version 1 manifests have data files only. Raises CorruptFileError, UnsupportedError (codec).
    """
    for table in read_avro_files(
        manifests, columns=frozenset((_STATUS, _PATH, _CONTENT)), inline=_RECORDS
    ):
        column_of = {field_id(field): index for index, field in enumerate(table.schema)}
        if _STATUS not in column_of or _PATH not in column_of:
            raise CorruptFileError("A manifest has entries without status or file_path")
        paths = table.column(column_of[_PATH]).cast(pa.string())
        content = (
            table.column(column_of[_CONTENT]).cast(pa.int32())
            if _CONTENT in column_of
            else pa.repeat(pa.scalar(0, pa.int32()), table.num_rows)
        )
        live = pc.not_equal(table.column(column_of[_STATUS]), int(ManifestEntryStatus.DELETED))
        yield pa.table([paths, content], schema=FILES).filter(live)
