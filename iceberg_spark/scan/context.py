"""The values that all tasks of a scan share; pickled once, in the reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.field_history import UNCHANGED, FieldHistory
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.reserved import LINEAGE_IDS
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class ScanContext:
    """A pinned scan of one table snapshot.

    `table_schema` is the schema that names and the filter were bound to; `read_schema` has only the
    projected columns (same ids, read order), metadata columns with their reserved ids at the
    end. `row_filter` may use columns outside the projection: they are read and dropped.
    `dropped_fields` are fields of former schemas by id, for equality deletes on dropped
    columns. `name_mapping` is the JSON of `schema.name-mapping.default`. With
    `start_snapshot_id` only rows appended after it, up to `snapshot_id`, are read. Without
    `checks_texts` texts that are not UTF-8 are passed on unchanged, like Spark does. `history`
    describes how fields of `table_schema` changed over the table's life. `io` is the storage of
    the table's files for driver and tasks.
    """

    table_location: str
    snapshot_id: int | None
    format_version: int
    table_schema: Schema
    read_schema: Schema
    specs: Mapping[int, PartitionSpec]
    row_filter: Bound = ALWAYS_TRUE
    dropped_fields: Schema | None = None
    name_mapping: str | None = None
    case_sensitive: bool = True
    batch_rows: int = 131_072
    io: FileIO = field(default_factory=open_storage, repr=False, compare=False)
    start_snapshot_id: int | None = None
    history: FieldHistory = UNCHANGED
    checks_texts: bool = True

    @property
    def reads_lineage(self) -> bool:
        """Whether row ids, or the numbers of last updates, are among the columns."""
        return any(field.field_id in LINEAGE_IDS for field in self.read_schema.fields)
