"""Plans of catalogs that plan scans themselves, as the same `ScanPlan` that this library plans.

The catalog decides which files and deletes a scan reads. Its residuals are added to the scan's own
filter, which is never left to the catalog alone: servers differ in what null and NaN mean.
Source: REST specification, ScanTasks; Java's `RESTFileScanTaskParser`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.values import to_array
from iceberg_spark.catalog.planned_io import PlannedPages, ScanPlanner, planner_of
from iceberg_spark.errors import CorruptFileError, InvalidInputError, UnsupportedError
from iceberg_spark.expr.expression_json import from_json, to_json
from iceberg_spark.expr.logic import conjunction, field_ids
from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    ALWAYS_TRUE,
    And,
    Bound,
    BoundReference,
    Constant,
    Leaf,
    Or,
    Term,
)
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import known_value
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.delete_index import DeleteIndex, listed_deletes
from iceberg_spark.scan.metrics import ScanMetrics, with_totals
from iceberg_spark.scan.plan import FILES_SCHEMA, PartitionTuples, ScanPlan
from iceberg_spark.scan.pruning import spec_pruning
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.json_values import value_from_json
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.reserved import LAST_UPDATED_SEQUENCE_NUMBER
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import DateType, ListType, MapType, StructType

_DATA_SEQUENCE, _EQUALITY_SEQUENCE = 0, 1
"""Catalogs do not send data sequence numbers. With these, each delete applies to each file."""
_PARTITIONS = ("partition_index", "spec_id")
_DELETES_SCHEMA = pa.schema(
    [
        ("content", pa.int32()),
        ("file_path", pa.string()),
        ("file_format", pa.string()),
        ("file_size_in_bytes", pa.int64()),
        ("record_count", pa.int64()),
        ("data_sequence_number", pa.int64()),
        ("spec_id", pa.int32()),
        ("equality_ids", pa.list_(pa.int32())),
        ("referenced_data_file", pa.string()),
        ("first_position", pa.int64()),
        ("last_position", pa.int64()),
        ("content_offset", pa.int64()),
        ("content_size_in_bytes", pa.int64()),
        ("content_bytes", pa.int64()),
    ]
)


def server_plan(metadata: TableMetadata, io: FileIO, context: ScanContext) -> ScanPlan:
    """Return the files that a scan reads, as the catalog of `io` plans it.

    The plan's context has the storage that opens the files.

    Raises:
        UnsupportedError: the scan needs what a catalog does not send, or its filter has a
            function that this library does not know.
        CorruptFileError: the catalog's plan cannot be read.
        NoSuchTableError, ServiceUnavailableError: see `ScanPlanner.plan`.
    """
    planner = planner_of(io)
    if planner is None:
        raise InvalidInputError(f"The scans of {metadata.location} are not planned by a catalog")
    if LAST_UPDATED_SEQUENCE_NUMBER.field_id in context.read_schema.field_ids:
        raise UnsupportedError(
            f"The catalog of table {planner.table} plans its scans, and does not send what "
            "_last_updated_sequence_number is: leave the column out"
        )
    if context.snapshot_id is None or context.start_snapshot_id == context.snapshot_id:
        return _assembled(metadata, replace(context, io=io), None, PlannedPages(()))
    request = server_request(metadata, context, context.snapshot_id)
    planned = planner.plan(request.node)
    if context.start_snapshot_id is not None:
        planned = replace(planned, pages=_without_start(planner, request, planned))
    what = f"The catalog's plan of table {planner.table}"
    try:
        with decoding(what):
            return _assembled(metadata, replace(context, io=planned.io or io), request, planned)
    except InvalidInputError as error:  # a value that is not of its column's type
        raise CorruptFileError(f"{what} is malformed: {error}") from error


def in_partitions(planned: ScanPlan, condition: Bound) -> ScanPlan:
    """Return the files of a plan whose partitions may have rows that match another condition."""
    context, first = planned.context, 0
    spec_of = dict(
        zip(*(planned.files.column(name).to_pylist() for name in _PARTITIONS), strict=True)
    )
    masks = [np.zeros(0, np.bool_)]
    for part in planned.partitions:
        # All tuples of a part belong to one spec; one without files is in no part of the answer.
        rows = range(first, first + len(part.tuples))
        spec_id = next((spec_of[row] for row in rows if row in spec_of), None)
        first = rows.stop
        if spec_id is None:
            masks.append(np.zeros(len(rows), np.bool_))
            continue
        spec, schema = context.specs[spec_id], context.table_schema
        pruning = spec_pruning(condition, spec, part.kind, schema, residuals=False)
        masks.append(pruning.partitions(part.tuples))
    kept_partitions = np.concatenate(masks)
    index = planned.files.column("partition_index").to_numpy()
    return planned.subset(np.flatnonzero(kept_partitions[index]))


def _without_start(
    planner: ScanPlanner, request: ServerRequest, planned: PlannedPages
) -> tuple[Mapping[str, Any], ...]:
    """Return the pages of an incremental scan without files of its first snapshot.

    The first snapshot is exclusive, but Java's server includes it. It is planned on its own: Java's
    server returns its files, others nothing or an error.
    """
    start = request.node["start-snapshot-id"]
    try:
        own = planner.plan({**request.node, "end-snapshot-id": start})
    except InvalidInputError:
        return planned.pages
    paths = {_path(task) for page in own.pages for task in _listed(page, "file-scan-tasks")}
    return tuple(
        {
            **page,
            "file-scan-tasks": [
                task for task in _listed(page, "file-scan-tasks") if _path(task) not in paths
            ],
        }
        for page in planned.pages
    )


def _path(task: Mapping[str, Any]) -> str:
    return str(task["data-file"]["file-path"])


def _listed(page: Mapping[str, Any], name: str) -> list[Any]:
    return page.get(name) or []


def _assembled(
    metadata: TableMetadata,
    context: ScanContext,
    request: ServerRequest | None,
    planned: PlannedPages,
) -> ScanPlan:
    columns = _Columns(metadata, context, request)
    for page in planned.pages:
        columns.add(page)
    files, partitions = columns.files()
    deletes = columns.deletes.index()
    residuals = tuple(columns.residuals)
    return ScanPlan(
        context=context,
        files=files,
        partitions=partitions,
        residuals=residuals,
        deletes=deletes,
        metrics=with_totals(ScanMetrics(), files, residuals, deletes),
        metadata=metadata,
        added_residuals=frozenset(columns.added),
    )


@dataclass(slots=True, eq=False)
class _Deletes:
    """The delete files of a plan, each once, although several pages name it."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)

    def number(self, node: Mapping[str, Any]) -> int:
        """Return the row of a delete file, added if it is new."""
        key = (node["file-path"], node.get("content-offset"), node.get("referenced-data-file"))
        if key not in self.numbers:
            self.numbers[key] = len(self.rows)
            self.rows.append(_delete_row(node))
        return self.numbers[key]

    def index(self) -> DeleteIndex:
        """Return the delete files as columns."""
        return listed_deletes(pa.Table.from_pylist(self.rows, _DELETES_SCHEMA))


@dataclass(slots=True, eq=False)
class _SpecFiles:
    """Files of one partition spec: their tuples, each once, and the residuals of these."""

    spec_id: int
    kind: StructType
    numbers: dict[str, int] = field(default_factory=dict)
    tuples: list[tuple[Any, ...]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, row: dict[str, Any], partition: Any) -> None:
        """Add a file; `partition` has its values in the spec's order, or by field id."""
        key = repr(partition)
        if key not in self.numbers:
            self.numbers[key] = len(self.tuples)
            self.tuples.append(_partition(self.kind, partition))
        self.rows.append({**row, "spec_id": self.spec_id, "partition_index": self.numbers[key]})

    def column(self) -> Any:
        """Return the tuples as a struct column."""
        if not self.kind.fields:
            return pa.array([{}] * len(self.tuples), pa.struct([]))
        arrays = [
            to_array(part.field_type, values)
            for part, values in zip(self.kind.fields, zip(*self.tuples, strict=True), strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, [part.name for part in self.kind.fields])


class _Columns:
    """Collects the pages of a plan as columns."""

    def __init__(
        self, metadata: TableMetadata, context: ScanContext, request: ServerRequest | None
    ) -> None:
        self._metadata = metadata
        self._context = context
        self._request = request
        self._by_spec: dict[int, _SpecFiles] = {}
        self._parsed: dict[str, Bound] = {}
        self.deletes = _Deletes()
        self.residuals: dict[Bound, int] = {}
        self.added: set[int] = set()

    def add(self, page: Mapping[str, Any]) -> None:
        """Add the tasks of a page; they refer to delete files of the same page."""
        delete_files = _listed(page, "delete-files")
        for task in _listed(page, "file-scan-tasks"):
            node = task["data-file"]
            references = task.get("delete-file-references") or []
            deletes = [_referenced(delete_files, n, node["file-path"]) for n in references]
            row = {
                "file_path": node["file-path"],
                "file_format": str(node["file-format"]).upper(),
                "record_count": node["record-count"],
                "file_size_in_bytes": node["file-size-in-bytes"],
                "data_sequence_number": _DATA_SEQUENCE,
                "split_offsets": node.get("split-offsets"),
                "delete_rows": sorted(self.deletes.number(delete) for delete in deletes),
                "first_row_id": node.get("first-row-id"),
                "residual": self._residual(task.get("residual-filter")),
            }
            known_value(FileFormat, row["file_format"], row["file_path"])
            self._spec(node["spec-id"]).add(row, node.get("partition") or [])

    def _spec(self, spec_id: int) -> _SpecFiles:
        if spec_id not in self._by_spec:
            spec = self._context.specs.get(spec_id)
            if spec is None:
                raise CorruptFileError(f"it has partition spec {spec_id}, which the table has not")
            former = [
                self._metadata.schemas[n] for n in sorted(self._metadata.schemas, reverse=True)
            ]
            kind = partition_type(spec, self._context.table_schema, former)
            self._by_spec[spec_id] = _SpecFiles(spec_id, kind)
        return self._by_spec[spec_id]

    def _residual(self, node: Any) -> Bound:
        """Return what a catalog's residual adds to the filter that was sent."""
        if node is None or self._request is None:
            return ALWAYS_TRUE
        key = repr(node)
        if key not in self._parsed:
            names = self._request.names
            sent = set(_conjuncts(from_json(self._request.filter, names)))
            added = [part for part in _conjuncts(from_json(node, names)) if part not in sent]
            self._parsed[key] = conjunction(
                _with_types(part, self._context.table_schema) for part in added
            )
        return self._parsed[key]

    def files(self) -> tuple[pa.Table, tuple[PartitionTuples, ...]]:
        """Return the files (FILES_SCHEMA) and their partitions, spec by spec."""
        tables, partitions, first = [FILES_SCHEMA.empty_table()], [], 0
        for files in self._by_spec.values():
            column = files.column()
            own = self._own_residuals(files, column)
            rows = [row for row in files.rows if own[row["partition_index"]] != ALWAYS_FALSE]
            for row in rows:
                index = row["partition_index"]
                row["residual_index"] = self._numbered(own[index], row.pop("residual"))
                row["partition_index"] = index + first
            tables.append(pa.Table.from_pylist(rows, FILES_SCHEMA))
            partitions.append(PartitionTuples(files.kind, column))
            first += len(files.tuples)
        return pa.concat_tables(tables), tuple(partitions)

    def _own_residuals(self, files: _SpecFiles, column: Any) -> list[Bound]:
        context = self._context
        spec = context.specs[files.spec_id]
        pruning = spec_pruning(context.row_filter, spec, files.kind, context.table_schema)
        residuals, way_of = pruning.residuals(column)
        return [residuals[way] for way in way_of.tolist()]

    def _numbered(self, own: Bound, added: Bound) -> int:
        own_parts = set(_conjuncts(own))
        left = [part for part in _conjuncts(added) if part not in own_parts]
        index = self.residuals.setdefault(conjunction([own, *left]), len(self.residuals))
        if left:
            self.added.add(index)
        return index


def _referenced(delete_files: Sequence[Mapping[str, Any]], number: int, path: str) -> Any:
    """Return the delete file of a page that a data file refers to.

    Java's server 1.11 numbers the vectors of one Puffin file alike. A vector says itself whose it
    is, so the data file's own one counts.
    """
    if not 0 <= number < len(delete_files):
        raise CorruptFileError(f"file {path} refers to a delete file that is not in the plan")
    delete = delete_files[number]
    of = delete.get("referenced-data-file", path)
    if of == path or str(delete["file-format"]).upper() != FileFormat.PUFFIN:
        return delete
    for other in delete_files:
        if (other["file-path"], other.get("referenced-data-file")) == (delete["file-path"], path):
            return other
    raise CorruptFileError(f"file {path} refers to the deletion vector of {of}")


def _delete_row(node: Mapping[str, Any]) -> dict[str, Any]:
    path = node["file-path"]
    content = DataFileContent[str(node["content"]).upper().replace("-", "_")]
    file_format = str(node["file-format"]).upper()
    known_value(FileFormat, file_format, path)
    is_equality = content is DataFileContent.EQUALITY_DELETES
    size = node["file-size-in-bytes"]
    is_vector = file_format == FileFormat.PUFFIN
    if is_vector and None in (node.get("content-offset"), node.get("content-size-in-bytes")):
        raise CorruptFileError(f"the deletion vector in {path} has no offset or size")
    return {
        "content": content.value,
        "file_path": path,
        "file_format": file_format,
        "file_size_in_bytes": size,
        "record_count": node["record-count"],
        "data_sequence_number": _EQUALITY_SEQUENCE if is_equality else _DATA_SEQUENCE,
        "spec_id": node["spec-id"],
        "equality_ids": node.get("equality-ids"),
        "referenced_data_file": node.get("referenced-data-file"),
        "content_offset": node.get("content-offset"),
        "content_size_in_bytes": node.get("content-size-in-bytes"),
        "content_bytes": node["content-size-in-bytes"] if is_vector else size,
    }


def _partition(kind: StructType, node: Any) -> tuple[Any, ...]:
    """Return a partition's canonical values, in the order of the spec's fields."""
    if isinstance(node, dict):
        node = [node.get(str(part.field_id)) for part in kind.fields]
    if len(node) != len(kind.fields):
        raise CorruptFileError(f"a partition has {len(node)} values, its spec {len(kind.fields)}")
    pairs = zip(kind.fields, node, strict=True)
    return tuple(value_from_json(part.field_type, value) for part, value in pairs)


def _conjuncts(bound: Bound) -> Iterator[Bound]:
    match bound:
        case Constant(value=True):
            return
        case And(children=children):
            yield from children
        case _:
            yield bound


def _with_types(bound: Bound, schema: Schema) -> Bound:
    """Return a predicate about columns of a schema, which may have other types than were sent.

    Raises UnsupportedError for a column that the schema does not have.
    """
    match bound:
        case Constant():
            return bound
        case And(children=children) | Or(children=children):
            return type(bound)(tuple(_with_types(child, schema) for child in children))
        case _:
            return _leaf_with_type(bound, schema)


def _leaf_with_type(leaf: Leaf, schema: Schema) -> Leaf:
    term = leaf.term
    column = schema.get(term.field_id) if isinstance(term, BoundReference) else None
    if column is None or not isinstance(term, BoundReference):
        raise UnsupportedError(
            f"The catalog filters rows by column {term.name}, which the version that is read does "
            "not have"
        )
    if isinstance(term.field_type, DateType) and column.field_type != term.field_type:
        raise UnsupportedError(
            f"The catalog filters rows by dates of column {term.name}, which has become "
            f"{column.field_type}"
        )
    return replace(leaf, term=replace(term, field_type=column.field_type))


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """The request of a scan, and the schema by which the catalog resolves names.

    A scan of a snapshot uses the snapshot's own schema, whatever the table's is now: that is the
    one that every server selects columns by. Filters are sent for columns that have the same name
    in both, since Java's server uses both.
    """

    node: dict[str, Any]
    names: Schema

    @property
    def filter(self) -> Any:
        """The filter's JSON."""
        return self.node.get("filter", True)


def server_request(metadata: TableMetadata, context: ScanContext, end: int) -> ServerRequest:
    """Return the request of a scan that is pinned to the snapshot `end`."""
    start = context.start_snapshot_id
    node: dict[str, Any]
    if start is None:
        names = _schema_of_snapshot(metadata, end)
        node = {"snapshot-id": end, "use-snapshot-schema": True}
    else:
        names = metadata.schema
        node = {"start-snapshot-id": start, "end-snapshot-id": end, "use-snapshot-schema": False}
    selected = _selected(context, names)
    row_filter = to_json(context.row_filter, lambda term: _name(term, names, metadata.schema))
    node |= {"case-sensitive": True}
    if selected:
        node["select"] = selected
    if row_filter is not True:
        node["filter"] = row_filter
    return ServerRequest(node, names)


def _schema_of_snapshot(metadata: TableMetadata, snapshot_id: int) -> Schema:
    schema_id = metadata.snapshot(snapshot_id).schema_id
    current = metadata.schema
    return current if schema_id is None else metadata.schemas.get(schema_id, current)


def _selected(context: ScanContext, names: Schema) -> list[str]:
    """Return the full names of the columns that are read or filtered; those without parts."""
    read = [
        field_id
        for field_id in context.read_schema.field_ids
        if not isinstance(
            context.read_schema.find_field(field_id).field_type, StructType | ListType | MapType
        )
    ]
    every = dict.fromkeys((*read, *field_ids(context.row_filter)))
    columns = (names.find_column_name(field_id) for field_id in every)
    return [name for name in columns if name is not None]


def _name(term: Term, names: Schema, current: Schema) -> str | None:
    """Return a column's name if it has not changed since."""
    if not isinstance(term, BoundReference):
        return None
    name = names.find_column_name(term.field_id)
    return name if name == current.find_column_name(term.field_id) else None
