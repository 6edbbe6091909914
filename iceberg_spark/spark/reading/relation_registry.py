"""The relations that were planned lately, so that the optimizer can plan them again by filters."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin
from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.reading.parquet_files import RelationFiles
from iceberg_spark.spec import types as t


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredRelation:
    """A relation over the files of a plan. `paths` are the paths of its files in the table."""

    plan: ScanPlan
    columns: ColumnPlan
    session: SparkSession
    kind: StructType
    paths: pa.ChunkedArray
    files: RelationFiles

    @property
    def rows(self) -> int:
        """The number of rows in its files."""
        return sum(self.files.rows)

    @property
    def shows_deleted_rows(self) -> bool:
        """Whether it shows deleted rows too, whose keys must not prune other relations."""
        return self.columns.has(Origin.DELETED)

    def field(self, name: str) -> t.NestedField | None:
        """Return the table's field of a column, None for a column that Spark converts."""
        for planned in self.columns.read:
            requested = planned.requested
            if planned.is_stored and requested is not None and requested.name == name:
                return planned.field if requested.field_type == planned.field.field_type else None
        return None


_relations = BoundedCache(NARROWING.kept_files, entries=NARROWING.kept_relations)
"""The latest relations by their marks, bounded in files; one of very many files fills it."""


def register_relation(mark: str, registered: RegisteredRelation) -> None:
    """Register the relation that has a mark."""
    _relations.put(mark, registered, min(len(registered.files), NARROWING.kept_files))


def registered_relation(mark: str) -> RegisteredRelation | None:
    """Return the relation that has a mark, None if it is no longer registered."""
    registered: RegisteredRelation | None = _relations.get(mark)
    return registered
