"""Relations over files for Spark's own Parquet reader."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from iceberg_spark.spark.catalyst import classic_frame
from iceberg_spark.spark.catalyst.planned_relations import (
    GivenFiles,
    gives_file_values,
    planned_relation,
)
from iceberg_spark.spark.reading.identity_columns import as_spark_stores
from iceberg_spark.spark.reading.limits import NATIVE
from iceberg_spark.spark.session.classic_session import is_connect

OPTIONS = {
    "__globPaths__": "false",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    "recursiveFileLookup": "false",
}
"""What the session says about these is not asked; none of a user's options gets here."""

MARK = "__iceberg_files__"
"""The option of a relation that has its mark, its key in `relation_registry`."""
_HAS_PLACES = ("hdfs:", "viewfs:")
_MOST_BYTES = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class RelationFiles:
    """The files of one relation, with their bytes and rows. Paths are spelled as Spark spells them.

    `values` are additional columns with one value for each file: int32, int64, or a type of
    `identity_columns`. They need a session with `gives_file_values`. `row_bytes` are the estimated
    bytes of a row. `version` distinguishes tables with the same files, and deletes.
    """

    paths: Sequence[str]
    sizes: Sequence[int]
    rows: Sequence[int]
    values: Mapping[str, Any] = field(default_factory=dict)
    row_bytes: float = 0.0
    version: str = ""

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def kind(self) -> StructType:
        """The type of the values."""
        return StructType(
            [
                StructField(name, from_arrow_type(v.type, prefer_timestamp_ntz=True))
                for name, v in self.values.items()
            ]
        )

    @property
    def read_bytes(self) -> int:
        """The estimated bytes of all rows in memory, by which Spark chooses joins."""
        return min(int(sum(self.rows) * self.row_bytes), _MOST_BYTES)

    @property
    def cells(self) -> list[str]:
        """The path, size and values of each file as texts, see `GivenFiles`."""
        texts = (as_spark_stores(column).cast(pa.string()) for column in self.values.values())
        marked = (pc.binary_join_element_wise("", text, "=") for text in texts)
        values = (pc.fill_null(column, "").to_pylist() for column in marked)
        columns = (self.paths, map(str, self.sizes), *values)
        return list(chain.from_iterable(zip(*columns, strict=True)))

    def part(self, indices: Sequence[int]) -> RelationFiles:
        """Return some of the files, by their indices."""
        values = {name: column.take(pa.array(indices)) for name, column in self.values.items()}
        paths = [self.paths[index] for index in indices]
        sizes, rows = ([values[index] for index in indices] for values in (self.sizes, self.rows))
        return RelationFiles(paths, sizes, rows, values, self.row_bytes, self.version)


def mark_of(kind: StructType, files: RelationFiles) -> str:
    """Return the mark of a relation: equal for equal columns and files."""
    parts = (kind.json(), files.kind.json(), files.version, *files.cells)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def files_relation(
    session: SparkSession, kind: StructType, files: RelationFiles, mark: str | None = None
) -> DataFrame:
    """Return a relation over files. A classic one has `mark`, from `mark_of`, as an option.

    Files never change: a file that was added again under its name has another size. DataFrames add
    columns above a relation, so that they can be joined with each other.
    """
    if is_connect(session) or mark is None:
        return _listed(session, kind, files.paths, mark)
    if len(files) > NATIVE.kept_paths:
        return _classic(session, kind, files, mark)
    return _cached_relation(session, mark, _RelationInput(kind, files))


@dataclass(frozen=True, slots=True)
class _RelationInput:
    """The columns and files of a relation, which its mark identifies."""

    kind: StructType = field(compare=False)
    files: RelationFiles = field(compare=False)


@lru_cache(maxsize=NATIVE.kept_relations)
def _cached_relation(session: SparkSession, mark: str, arguments: _RelationInput) -> DataFrame:
    """Return a relation of a classic session, the same one again for the same files."""
    return _classic(session, arguments.kind, arguments.files, mark)


def _classic(session: SparkSession, kind: StructType, files: RelationFiles, mark: str) -> DataFrame:
    if not gives_file_values(session):
        return _listed(session, kind, files.paths, mark)
    options = {**OPTIONS, MARK: mark}
    listed = None
    if any(path.startswith(_HAS_PLACES) for path in files.paths):
        listed = _listed(session, kind, files.paths, mark)
    parameters = GivenFiles(files.kind, files.cells, files.read_bytes)
    return planned_relation(session, kind, options, parameters, listed)


def _listed(
    session: SparkSession, kind: StructType, paths: Sequence[str], mark: str | None
) -> DataFrame:
    marked = {} if mark is None else {MARK: mark}
    reader = session.read.schema(kind).options(**OPTIONS, **marked)
    return classic_frame.read_parquet(session, reader, paths, many=NATIVE.many_paths)
