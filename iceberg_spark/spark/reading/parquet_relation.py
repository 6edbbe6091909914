"""A native group of files as a DataFrame over Spark's own Parquet reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's users write it

from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.read.projected_rows import LeafColumn
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.adapt.many_columns import select_texts
from iceberg_spark.spark.adapt.types import nullable, to_spark
from iceberg_spark.spark.catalyst.planned_relations import gives_file_values
from iceberg_spark.spark.deletes.apply_deletes import apply_deletes, key_name, load_deletes
from iceberg_spark.spark.deletes.per_file_values import (
    ROW_INDEX,
    ROW_INDEX_FIELD,
    file_field,
    or_raise,
    with_file_values,
)
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin, PlannedColumn
from iceberg_spark.spark.reading.engine_choice import FileGroup
from iceberg_spark.spark.reading.identity_columns import identity_values
from iceberg_spark.spark.reading.parquet_files import RelationFiles, files_relation, mark_of
from iceberg_spark.spark.reading.predicate_column import ColumnOf, filter_column, literal
from iceberg_spark.spark.reading.read_columns import (
    Lineage,
    asks_places,
    file_key_of,
    given_name,
    lineage_of,
    read_column,
    relation_type,
)
from iceberg_spark.spark.reading.relation_registry import RegisteredRelation, register_relation
from iceberg_spark.spark.reading.relation_size import row_bytes
from iceberg_spark.spark.session.classic_session import is_connect
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec import reserved
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

PRUNING = "spark.sql.optimizer.nestedSchemaPruning.enabled"
_PATH, _COMPUTED = "__iceberg_path", "__iceberg_computed_"
_SCHEME = r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?"
_NEEDS_NO_ENCODING = r"^[A-Za-z0-9/_.=:@,~+-]*$"


def relation(
    plan: ScanPlan,
    group: FileGroup,
    columns: ColumnPlan,
    session: SparkSession,
    *,
    filters: bool = True,
) -> DataFrame:
    """Return the group's rows that match the filter, with the columns of the read schema.

    The columns have the schema's order; they may have other names, and field ids. Deletes are
    applied before the filter, which Spark pushes below them.

    Args:
        plan: the scan.
        group: files with the same columns.
        columns: how the columns are read.
        session: the session of `reading_session`.
        filters: apply the filter of the plan. Otherwise return all rows of the files.
    """
    context, files = plan.context, plan.files.take(pa.array(group.rows))
    has_values = gives_file_values(session)
    loaded = None
    if group.deletes is not None:
        loaded = load_deletes(group.deletes, plan, context.io, padded=not has_values)
    lineage = lineage_of(columns, files)
    values = {**lineage.by_file, **(loaded.values if loaded else {})}
    needs_positions = (loaded is not None and loaded.group.has_positions) or asks_places(columns)
    added = _keys(columns, group.deletes.keys if group.deletes else ())
    if has_values:
        relation_values = _RelationValues(
            files, values, _version(plan, has_deletes=group.deletes is not None)
        )
        frame = _marked(plan, columns, relation_values, session, places=needs_positions)
    else:
        frame, added = _joined(
            columns, files, values, group, session, added, places=needs_positions
        )
    if loaded is not None:
        frame = apply_deletes(frame, added, loaded, plan, context.io)
    elif added:
        frame = frame.withColumns(added)
    residuals = {plan.residuals[i] for i in pc.unique(files.column("residual_index")).to_pylist()}
    if filters and residuals != {ALWAYS_TRUE}:
        frame = frame.where(filter_column(context.row_filter, _leaf_of(columns)))
    if columns.is_as_read:
        return frame if group.deletes is None else _shown(frame, columns)
    has_deletes = group.deletes is not None
    spelling = None if has_values else _spelling(group, files)
    return _with_values(frame, _Values(columns, has_deletes, lineage, spelling))


@dataclass(frozen=True, slots=True, eq=False)
class _RelationValues:
    """The files of a group, their values by name, and the version of the table."""

    files: pa.Table
    values: Mapping[str, Any]
    version: str


def _version(plan: ScanPlan, *, has_deletes: bool) -> str:
    """Return what distinguishes rows of equal files: the table, and with deletes its snapshot."""
    table = "" if plan.metadata is None else plan.metadata.table_uuid
    return f"{table} {plan.context.snapshot_id}" if has_deletes else table


def _spelling(group: FileGroup, files: pa.Table) -> _Spelling:
    plain = pc.match_substring_regex(files.column("file_path"), _NEEDS_NO_ENCODING)
    return _Spelling(group.is_local, not pc.all(plain).as_py())


def _marked(
    plan: ScanPlan,
    columns: ColumnPlan,
    of: _RelationValues,
    session: SparkSession,
    *,
    places: bool,
) -> DataFrame:
    """Return a classic relation with values of its files. It is registered, so it can be pruned."""
    kind, files = relation_type(columns), of.files
    values = {**of.values, **_identity_values(plan, columns, files)}
    kind = kind.add(ROW_INDEX_FIELD) if places else kind
    paths = files.column("file_path")
    if columns.has(Origin.PATH):
        values = {**values, _PATH: paths.combine_chunks()}
    spelled = [_for_spark(path) for path in paths.to_pylist()]
    sizes = files.column("file_size_in_bytes").to_pylist()
    rows = files.column("record_count").to_pylist()
    width = row_bytes(columns, plan, files)
    relation_files = RelationFiles(spelled, sizes, rows, values, width, of.version)
    mark = mark_of(kind, relation_files)
    register_relation(mark, RegisteredRelation(plan, columns, session, kind, paths, relation_files))
    return files_relation(session, kind, relation_files, mark)


def _identity_values(plan: ScanPlan, columns: ColumnPlan, files: pa.Table) -> dict[str, Any]:
    return {
        column.requested.name: identity_values(plan, files, column.field)
        for column in columns.read
        if column.origin is Origin.IDENTITY and column.requested is not None
    }


def _joined(
    columns: ColumnPlan,
    files: pa.Table,
    values: Mapping[str, Any],
    group: FileGroup,
    session: SparkSession,
    keys: dict[str, Column],
    *,
    places: bool,
) -> tuple[DataFrame, dict[str, Column]]:
    """Return a relation with the values of files joined to their rows, and columns to add to it.

    Columns that need `_metadata` have to be added directly above the relation. If there is one, all
    are added there.
    """
    kind = relation_type(columns)
    with_metadata = places and _may_leave_metadata_out(columns, session)
    kind = kind.add(ROW_INDEX_FIELD) if places and not with_metadata else kind
    spelled = [_for_spark(path) for path in files.column("file_path").to_pylist()]
    sizes, rows = (files.column(c).to_pylist() for c in ("file_size_in_bytes", "record_count"))
    frame = files_relation(session, kind, RelationFiles(spelled, sizes, rows))
    added = dict(keys)
    if with_metadata:
        added[ROW_INDEX] = file_field(frame, "row_index")
    if columns.has(Origin.PATH):
        added[_PATH] = file_field(frame, "file_path")
    if not values:
        return frame, added
    file_key = group.deletes.file_key if group.deletes else file_key_of(files)
    return with_file_values(frame, added, file_key, files, pa.table(dict(values))), {}


def _shown(frame: DataFrame, columns: ColumnPlan) -> DataFrame:
    names = [given_name(column) for column in columns.shown]
    if is_connect(frame.sparkSession):
        # Text is parsed at every action, by `parser.quotedRegexColumnNames` as it is then.
        return frame.select([F.col(name) for name in names])
    return select_texts(frame, names)


def _with_values(frame: DataFrame, values: _Values) -> DataFrame:
    """Return the columns of the read schema. Columns that are read unchanged cost no round trip."""
    shown = values.columns.shown
    if is_connect(frame.sparkSession):
        return frame.select([values.of(column) for column in shown])
    names, computed = [], {}
    for column in shown:
        if column.is_as_read:
            names.append(given_name(column))
        else:
            names.append(f"{_COMPUTED}{column.field.field_id}")
            computed[names[-1]] = values.of(column)
    return select_texts(frame.withColumns(computed) if computed else frame, names)


def _may_leave_metadata_out(columns: ColumnPlan, session: SparkSession) -> bool:
    """Return whether a query may need row positions and nothing else of `_metadata`.

    Spark then reads all of `_metadata`, with `row_index`, and refuses a second column of positions.
    So the positions have to come from `_metadata` too. Without `_file` and `_deleted`, only the
    filter of deletes needs `_metadata`, and that filter stays.
    """
    optional = columns.has(Origin.PATH) or columns.has(Origin.DELETED)
    return optional or str(session.conf.get(PRUNING, "true")).lower() != "true"


def _keys(columns: ColumnPlan, keys: Sequence[LeafColumn]) -> dict[str, Column]:
    """Return the key columns of the relation by name. A key in a NULL struct is NULL."""
    key_columns = {}
    for leaf in keys:
        field = leaf.field
        column = read_column(columns.of(field.field_id))
        while isinstance(field.field_type, t.StructType):
            (field,) = field.field_type.fields
            column = column.getField(field.name)
        key_columns[key_name(leaf.field_id)] = column
    return key_columns


def _leaf_of(columns: ColumnPlan) -> ColumnOf:
    read = Schema(*(column.field for column in columns.read))

    def leaf(field_id: int) -> Column:
        top, *path = read.path_ids(field_id)
        column = read_column(columns.of(top))
        for inner in path:
            column = column.getField(read.find_field(inner).name)
        return column

    return leaf


def _for_spark(path: str) -> str:
    """Return a path for Spark, which reads paths without a scheme from its default store."""
    return f"file:{path}" if path.startswith("/") else path


@dataclass(frozen=True, slots=True)
class _Values:
    """The columns of the read schema over the relation of a group."""

    columns: ColumnPlan
    has_deletes: bool
    lineage: Lineage
    spelling: _Spelling | None

    def of(self, column: PlannedColumn) -> Column:
        """Return a column, with its name and comment."""
        field = column.field
        comment = {"comment": field.doc} if field.doc else {}
        return self._value(column).alias(field.name, metadata=comment)

    def _value(self, column: PlannedColumn) -> Column:
        match column.origin:
            case Origin.PATH:
                path = F.col(_PATH)
                return path if self.spelling is None else self.spelling.of(path, column.value)
            case Origin.LINEAGE:
                return self.lineage.of(column)
            case Origin.POSITION:
                return expression(or_raise(ROW_INDEX, "bigint"))
            case Origin.DELETED:
                return F.col(reserved.DELETED.name) if self.has_deletes else F.lit(False)
            case Origin.PARTITION:
                return _partition(column)
            case Origin.FILE | Origin.IDENTITY | Origin.CONSTANT | Origin.NOTHING:
                value = read_column(column)
                return (
                    _uuid_text(value) if isinstance(column.field.field_type, t.UUIDType) else value
                )


@dataclass(frozen=True, slots=True)
class _Spelling:
    """Converts Spark's paths (`file:/a%20b`) to the table's, with its prefix and no escapes."""

    is_local: bool
    encoded: bool

    def of(self, path: Column, prefix: str) -> Column:
        """Return Spark's path as the table spells it."""
        rest = F.regexp_replace(path, _SCHEME, "")
        if self.is_local:  # quicker, and what Spark says of local files
            usual = path.startswith("file:/") & ~path.startswith("file://")
            rest = F.when(usual, F.substr(path, F.lit(len("file:/")))).otherwise(rest)
        if self.encoded:
            rest = F.url_decode(F.replace(rest, F.lit("+"), F.lit("%2B")))
        return F.concat(F.lit(prefix), rest)


def _partition(column: PlannedColumn) -> Column:
    fields = t.child_fields(column.field.field_type)
    shown = nullable(to_spark(Schema(*fields)))
    columns = [
        _partition_value(field, column.value.get(field.field_id)).cast(f.dataType).alias(field.name)
        for field, f in zip(fields, shown.fields, strict=True)
    ]
    return F.struct(*columns).cast(shown)  # else what is not NULL is never NULL by its type


def _partition_value(field: t.NestedField, value: Any) -> Column:
    if value is None:
        return F.lit(None)
    column = literal(field.field_type, value)
    return _uuid_text(column) if isinstance(field.field_type, t.UUIDType) else column


def _uuid_text(column: Column) -> Column:
    dashes = "^(.{8})(.{4})(.{4})(.{4})(.{12})$"
    return F.regexp_replace(F.lower(F.hex(column)), dashes, "$1-$2-$3-$4-$5")
