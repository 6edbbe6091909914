"""The ledger of changes by key: facts that a table's rows cannot store, in a separate branch.

Rows show the last change of their key, and histories even more, but not that a row was deleted, and
when. The ledger has a row for each such change, with the key and the sequence. It is a branch of
the same table (`__cdc_<branch>`), so it is committed together with the data, and expiry and orphan
removal of every engine keep its files. Each of its snapshots names the snapshot of the data that it
belongs to: a rollback, a branch or a tag has its own ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.commits.batch_token import Lineage
from iceberg_spark.commits.ledger_files import ABOUT, HAS_LEDGER, OF_SNAPSHOT, ledger_branch
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Comparison, Op, Reference, Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.lazy import LazyModule
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.row_level.cdc_frames import Frame, key_columns, key_frame
from iceberg_spark.row_level.cdc_notes import KIND, SEQUENCE, TRUNCATED, Notes
from iceberg_spark.row_level.cdc_plan import WITHOUT_OFFSET, CdcPlan
from iceberg_spark.row_level.key_ranges import ranges_of
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan as plan_scan
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.properties import CDC_MISSING_LEDGER, text_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot
from iceberg_spark.spec.sort import UNSORTED, UNSORTED_ORDER_ID
from iceberg_spark.spec.types import DecimalType
from iceberg_spark.write.context import WriteContext

pl = LazyModule("polars")

_PLACES = ("write.data.path", "write.object-storage.")


@dataclass(frozen=True, slots=True)
class Ledger:
    """A table's ledger at the time when a change is planned.

    `snapshot` belongs to the data, None if the ledger is empty. `head` is the committed head of the
    ledger's branch, which may be newer after a rollback.
    """

    metadata: TableMetadata
    io: FileIO
    branch: str
    snapshot: Snapshot | None
    head: int | None
    notes: Notes

    @property
    def schema(self) -> Schema:
        """The columns of the ledger: the key's, optional, and its own."""
        return self.notes.schema

    def scan(self, row_filter: Unbound | None = None) -> ScanPlan:
        """Plan the rows under a filter over the ledger's columns."""
        schema = self.schema
        bound = ALWAYS_TRUE if row_filter is None else bind(schema, row_filter)
        context = ScanContext(
            table_location=self.metadata.location,
            snapshot_id=None if self.snapshot is None else self.snapshot.snapshot_id,
            format_version=self.metadata.format_version,
            table_schema=schema,
            read_schema=schema,
            specs=self.metadata.partition_specs,
            row_filter=bound,
            io=self.io,
        )
        return plan_scan(self.metadata, self.io, context)

    def batches(self, row_filter: Unbound | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows under a filter whose retention has not ended."""
        scanned = self.scan(row_filter)
        for task in scanned:
            for batch in read_task(scanned.context, self.io, task):
                yield batch.filter(self.notes.remembered(batch))

    def of_keys(self, keys: pa.Table, key_rows: Frame) -> pa.Table:
        """Return the ledger rows of some keys; `key_rows` has them in the form of `key_frame`.

        Memory holds the rows of these keys.
        """
        names = key_columns(self.notes.plan.keys)
        tables = [to_arrow(self.schema).empty_table()]
        if self.snapshot is not None and keys.num_rows:
            distinct = key_rows.select(names).unique()
            for batch in self.batches(ranges_of(self.schema, keys)):
                not_truncations = batch.filter(pc.not_equal(batch.column(KIND), TRUNCATED))
                indexed = key_frame(not_truncations, self.notes.plan.keys).with_row_index("at")
                met = indexed.join(distinct, on=names, how="semi").get_column("at").to_numpy()
                tables.append(pa.Table.from_batches([not_truncations]).take(pa.array(met)))
        return pa.concat_tables(tables).combine_chunks()

    def truncated_at(self) -> pa.Scalar | None:
        """Return the sequence of the latest truncation, None if there was none."""
        if self.snapshot is None:
            return None
        latest = None
        for batch in self.batches(Comparison(Op.EQ, Reference(KIND), TRUNCATED)):
            seen = pc.max(batch.column(SEQUENCE))
            if seen.is_valid and (latest is None or pc.greater(seen, latest).as_py()):
                latest = seen
        return latest

    def write_context(self, context: WriteContext) -> WriteContext:
        """Return the context for writing the ledger's files, which are next to the table's."""
        spec = unpartitioned(self.metadata)
        location_properties = {k: v for k, v in context.properties.items() if k.startswith(_PLACES)}
        return replace(
            context,
            schema=self.schema,
            spec=spec,
            sort_order_id=UNSORTED_ORDER_ID,
            sort_order=UNSORTED,
            file_format=FileFormat.PARQUET,
            write_id=f"c{context.write_id}",
            properties=location_properties,
            row_bytes=None,
        )


def unpartitioned(metadata: TableMetadata) -> PartitionSpec:
    """Return the unpartitioned spec, a new one if the table has none."""
    specs = metadata.partition_specs
    there = (spec for spec in specs.values() if not spec.fields)
    return next(there, PartitionSpec(max(specs, default=-1) + 1))


def open_ledger(
    metadata: TableMetadata, io: FileIO, plan: CdcPlan, branch: str | None, now_ms: int
) -> Ledger:
    """Find the ledger of a branch's head.

    Raises:
        ValidationException: the ledger is missing.
        InvalidInputError: the ledger has other keys.
    """
    name = ledger_branch(branch)
    snapshot, notes = _of_head(metadata, io, branch or MAIN_BRANCH), Notes(plan, now_ms)
    about = notes.about if snapshot is None else snapshot.summary.get(ABOUT, notes.about)
    if about != notes.about:
        was_time = about.endswith("by long") and isinstance(plan.sequence_type, DecimalType)
        raise InvalidInputError(
            f"Changes applied to {metadata.location} have {about}, these have "
            f"{notes.about}: keys, order and type must equal those of the first changes. "
            f"{WITHOUT_OFFSET + '. ' if was_time else ''}Remove the branch '{name}' to begin "
            "again, without what it knows of deletes"
        )
    return Ledger(metadata, io, name, snapshot, None, notes)


def _of_head(metadata: TableMetadata, io: FileIO, branch: str) -> Snapshot | None:
    """Return the newest ledger snapshot that was committed with an ancestor of the head.

    Expired ancestors are looked up in earlier metadata files. If these are gone too, it is the
    newest ledger snapshot that is older than the known ancestors.
    """
    ledgers = {
        int(snapshot.summary[OF_SNAPSHOT]): snapshot
        for snapshot in metadata.snapshots.values()
        if OF_SNAPSHOT in snapshot.summary
    }
    lineage, last = Lineage(metadata, branch, io), None
    for ancestor in chain(lineage.reachable, lineage.expired() if ledgers else ()):
        if ancestor.snapshot_id in ledgers:
            return ledgers[ancestor.snapshot_id]
        if HAS_LEDGER in ancestor.summary:
            _check_forgotten(metadata, ancestor, branch)
        last = ancestor
    if last is None or last.parent_snapshot_id is None:
        return None
    if last.parent_snapshot_id in ledgers:
        return ledgers[last.parent_snapshot_id]
    older = [
        snapshot for snapshot in ledgers.values() if snapshot.sequence_number < last.sequence_number
    ]
    return max(older, key=lambda ancestor: ancestor.sequence_number, default=None)


def _check_forgotten(metadata: TableMetadata, snapshot: Snapshot, branch: str) -> None:
    if text_property(metadata.properties, CDC_MISSING_LEDGER) != "forget":
        raise ValidationException(
            f"Snapshot {snapshot.snapshot_id} of {metadata.location} has a ledger of deletes, and "
            f"the branch '{ledger_branch(branch)}' that held it is gone; set the table property "
            f"'{CDC_MISSING_LEDGER}' to 'forget' to go on without"
        )
