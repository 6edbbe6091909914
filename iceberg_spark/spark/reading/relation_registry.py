"""The relations that were planned lately, so that the optimizer can plan them again by filters."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

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
            if planned.origin is Origin.FILE and requested is not None and requested.name == name:
                return planned.field if requested.field_type == planned.field.field_type else None
        return None


@dataclass(slots=True)
class _Registry:
    """The latest relations: a bounded number of them, with a bounded number of files in all."""

    files: int = 0
    by_mark: OrderedDict[str, RegisteredRelation] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, mark: str, registered: RegisteredRelation) -> None:
        with self.lock:
            replaced = self.by_mark.pop(mark, None)
            self.files += len(registered.files) - (0 if replaced is None else len(replaced.files))
            self.by_mark[mark] = registered
            while self._is_full() and len(self.by_mark) > 1:
                _, oldest = self.by_mark.popitem(last=False)
                self.files -= len(oldest.files)

    def _is_full(self) -> bool:
        return self.files > NARROWING.kept_files or len(self.by_mark) > NARROWING.kept_relations

    def get(self, mark: str) -> RegisteredRelation | None:
        with self.lock:
            registered = self.by_mark.get(mark)
            if registered is not None:
                self.by_mark.move_to_end(mark)
            return registered


_registry = _Registry()


def register_relation(mark: str, registered: RegisteredRelation) -> None:
    """Register the relation that has a mark."""
    _registry.put(mark, registered)


def registered_relation(mark: str) -> RegisteredRelation | None:
    """Return the relation that has a mark, None if it is no longer registered."""
    return _registry.get(mark)
