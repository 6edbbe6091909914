"""What relations read is kept a while, so that their tables can be planned again with filters."""

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
class MarkedFiles:
    """What a relation reads: how it was planned, and its files; `paths` are the table's."""

    plan: ScanPlan
    columns: ColumnPlan
    session: SparkSession
    kind: StructType
    paths: pa.ChunkedArray
    files: RelationFiles

    @property
    def rows(self) -> int:
        """How many rows its files have."""
        return sum(self.files.rows)

    @property
    def shows_deleted_rows(self) -> bool:
        """Whether it shows deleted rows too: the keys of those are none."""
        return self.columns.has(Origin.DELETED)

    def field(self, name: str) -> t.NestedField | None:
        """Return the table's field that a column is, None where Spark makes more of it."""
        for planned in self.columns.read:
            asked = planned.asked
            if planned.origin is Origin.FILE and asked is not None and asked.name == name:
                return planned.field if asked.field_type == planned.field.field_type else None
        return None


@dataclass(slots=True)
class _Kept:
    """The last marked relations, a bounded number, with a bounded number of files in all."""

    files: int = 0
    by_mark: OrderedDict[str, MarkedFiles] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, mark: str, marked: MarkedFiles) -> None:
        with self.lock:
            before = self.by_mark.pop(mark, None)
            self.files += len(marked.files) - (0 if before is None else len(before.files))
            self.by_mark[mark] = marked
            while self._is_full() and len(self.by_mark) > 1:
                _, gone = self.by_mark.popitem(last=False)
                self.files -= len(gone.files)

    def _is_full(self) -> bool:
        most = NARROWING.kept_relations
        return self.files > NARROWING.kept_files or len(self.by_mark) > most

    def get(self, mark: str) -> MarkedFiles | None:
        with self.lock:
            found = self.by_mark.get(mark)
            if found is not None:
                self.by_mark.move_to_end(mark)
            return found


_kept = _Kept()


def keep_marked(mark: str, marked: MarkedFiles) -> None:
    """Keep what the relation with a mark reads."""
    _kept.put(mark, marked)


def marked_files(mark: str) -> MarkedFiles | None:
    """Return what the relation with a mark reads, None where it isn't kept any more."""
    return _kept.get(mark)
