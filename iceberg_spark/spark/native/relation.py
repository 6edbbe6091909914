"""A native group of files as a frame over Spark's own Parquet reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as PySpark's users write it
from pyspark.sql import types as s

from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.read.leaf_columns import LeafColumn
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.pruning import canonical_tuples
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.native.column_check import (
    data_fields,
    is_whole,
    key_fields,
    misleads,
)
from iceberg_spark.spark.native.default_text import default_text
from iceberg_spark.spark.native.file_groups import FileGroup
from iceberg_spark.spark.native.filter_column import ColumnOf, filter_column, literal
from iceberg_spark.spark.native.frame_type import nullable
from iceberg_spark.spark.native.live_rows import key_name, live_rows
from iceberg_spark.spark.native.native_session import is_connect
from iceberg_spark.spec import reserved
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

FIELD_ID = "parquet.field.id"
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

_SCHEME = r"^[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?"
_NEEDS_NO_ENCODING = r"^[A-Za-z0-9/_.=:@,~+-]*$"


def relation(plan: ScanPlan, group: FileGroup, session: SparkSession) -> DataFrame:
    """Return the group's rows that match the filter, with the columns of the read schema.

    `session` comes from `native_session.reading_session`. Deletes of a group with some are
    applied before the filter, which Spark pushes below them.
    """
    context, files = plan.context, plan.files.take(pa.array(group.rows))
    isolated = not is_connect(session)
    paths = [_for_spark(path) for path in files.column("file_path").to_pylist()]
    keys = group.deletes.keys if group.deletes else ()
    kind = read_type(context, isolated, tuple(key_fields(context, keys).values()))
    frame = session.read.schema(kind).options(**OPTIONS).parquet(*paths)
    if group.deletes is not None:
        keyed = frame.withColumns(_keys(context, keys, isolated)) if keys else frame
        frame = live_rows(keyed, group.deletes, plan, FsspecIO(context.io_properties))
    found = {field.field_id: _found(context, field, isolated) for field in data_fields(context)}
    residuals = {plan.residuals[i] for i in pc.unique(files.column("residual_index")).to_pylist()}
    if residuals != {ALWAYS_TRUE}:
        frame = frame.where(filter_column(context.row_filter, _leaf_of(context, found)))
    metadata = frame.metadataColumn("_metadata") if _needs_metadata(context) else None
    plain = pc.match_substring_regex(files.column("file_path"), _NEEDS_NO_ENCODING)
    values = _Values(plan, group, found, metadata, not pc.all(plain).as_py())
    return frame.select([values.of(field) for field in context.read_schema.fields])


def read_type(
    context: ScanContext, isolated: bool, others: Sequence[t.NestedField] = ()
) -> s.StructType:
    """Return the schema that Spark's reader gets: field ids everywhere, defaults at the top.

    `others` are columns that deletes need.
    """
    fields = (*data_fields(context), *others)
    plain = to_spark(Schema(*(_binary_for_uuid(field) for field in fields)))
    made = []
    for field, shown in zip(fields, plain.fields, strict=True):
        if isinstance(field.field_type, t.UnknownType):
            continue
        metadata: dict[str, Any] = {FIELD_ID: field.field_id}
        if field.initial_default is not None:
            text = default_text(field.field_type, field.initial_default)
            metadata |= {"EXISTS_DEFAULT": text, "CURRENT_DEFAULT": text}
        hidden = isolated and is_whole(context, field)
        kind = _with_ids(shown.dataType, field.field_type, hidden)
        made.append(s.StructField(read_name(context, field, isolated), kind, True, metadata))
    return s.StructType(made)


def read_name(context: ScanContext, field: t.NestedField, isolated: bool) -> str:
    """Return what a top-level column is called in the relation.

    A name that no file has can't mislead. Where reading by id can be turned off (`isolated` is
    False) it would find nothing, so there the name stays and `_found` shields the column.
    """
    hidden = isolated and (misleads(context, field) or is_whole(context, field))
    hidden = hidden or context.table_schema.get(field.field_id) is None  # dropped since
    return _hidden_name(field) if hidden else field.name


def _found(context: ScanContext, field: t.NestedField, isolated: bool) -> Column:
    """Return a column of the relation, so that only filters that may be are pushed down."""
    if isinstance(field.field_type, t.UnknownType):
        return F.lit(None)
    column = F.col(_quoted(read_name(context, field, isolated)))
    if is_whole(context, field):
        # Spark looks neither for filters nor for unused fields behind a cast; this one changes
        # names only.
        (shown,) = nullable(to_spark(Schema(field))).fields
        return column.cast(shown.dataType)
    if misleads(context, field) and not isolated:
        # Of single columns only floating-point ones get here: the others go to the Arrow engine.
        return F.nanvl(column, F.lit(float("nan")).cast(_float(field.field_type)))
    return column


def _keys(context: ScanContext, keys: Sequence[LeafColumn], isolated: bool) -> dict[str, Column]:
    """Return the key columns of the relation by name; NULL where a struct around one is."""
    added = key_fields(context, keys)
    read = {field.field_id: field for field in (*data_fields(context), *added.values())}
    found = {}
    for leaf in keys:
        field = leaf.field
        column = _found(context, read[field.field_id], isolated)
        while isinstance(field.field_type, t.StructType):
            (field,) = field.field_type.fields
            column = column.getField(field.name)
        found[key_name(leaf.field_id)] = column
    return found


def _float(kind: t.IcebergType) -> s.DataType:
    return s.FloatType() if isinstance(kind, t.FloatType) else s.DoubleType()


def _binary_for_uuid(field: t.NestedField) -> t.NestedField:
    if not isinstance(field.field_type, t.UUIDType):
        return field
    return t.NestedField(field.field_id, field.name, t.FixedType(16))


def _with_ids(kind: s.DataType, iceberg: t.IcebergType, hidden: bool) -> s.DataType:
    """Return the type with ids on struct fields, which is where Spark's reader looks at them.

    With `hidden` their names are made from the ids too.
    """
    match kind, iceberg:
        case s.StructType(fields=fields), t.StructType():
            inner = []
            for shown, f in zip(fields, iceberg.fields, strict=True):
                name = _hidden_name(f) if hidden else shown.name
                below = _with_ids(shown.dataType, f.field_type, hidden)
                inner.append(s.StructField(name, below, True, {FIELD_ID: f.field_id}))
            return s.StructType(inner)
        case s.ArrayType(), t.ListType():
            return s.ArrayType(_with_ids(kind.elementType, iceberg.element_type, hidden), True)
        case s.MapType(), t.MapType():
            key = _with_ids(kind.keyType, iceberg.key_type, hidden)
            return s.MapType(key, _with_ids(kind.valueType, iceberg.value_type, hidden), True)
        case _:
            return kind


def _hidden_name(field: t.NestedField) -> str:
    return f"__field_{field.field_id}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _leaf_of(context: ScanContext, found: Mapping[int, Column]) -> ColumnOf:
    read = Schema(*data_fields(context))

    def leaf(field_id: int) -> Column:
        top, *path = read.path_ids(field_id)
        column = found[top]
        for inner in path:
            column = column.getField(read.find_field(inner).name)
        return column

    return leaf


def _needs_metadata(context: ScanContext) -> bool:
    asked = {field.field_id for field in context.read_schema}
    return not asked.isdisjoint({reserved.FILE_ID, reserved.POS_ID})


def _for_spark(path: str) -> str:
    """A path without a scheme is a local file to us; to Spark it is one of the default store."""
    return f"file:{path}" if path.startswith("/") else path


@dataclass(frozen=True, slots=True)
class _Values:
    """The columns of the read schema over a group's relation."""

    plan: ScanPlan
    group: FileGroup
    found: Mapping[int, Column]
    metadata: Column | None
    encoded: bool

    def of(self, field: t.NestedField) -> Column:
        comment = {"comment": field.doc} if field.doc else {}
        return self._value(field).alias(field.name, metadata=comment)

    def _value(self, field: t.NestedField) -> Column:
        match field.field_id:
            case reserved.FILE_ID:
                return self._file()
            case reserved.POS_ID:
                return self._metadata("row_index")
            case reserved.DELETED_ID:
                return F.col(reserved.DELETED.name) if self.group.deletes else F.lit(False)
            case reserved.SPEC_ID_ID:
                return F.lit(self.group.spec_id)
            case reserved.PARTITION_ID if isinstance(field.field_type, t.StructType):
                return self._partition(field.field_type)
            case _:
                return self._data(field)

    def _data(self, field: t.NestedField) -> Column:
        column = self.found[field.field_id]
        return _uuid_text(column) if isinstance(field.field_type, t.UUIDType) else column

    def _metadata(self, name: str) -> Column:
        if self.metadata is None:
            raise AssertionError(f"the relation was made without _metadata.{name}")
        return self.metadata[name]

    def _file(self) -> Column:
        """Spark says `file:/a%20b`; the table's spelling has its own prefix and no escapes."""
        path = self._metadata("file_path")
        rest = F.regexp_replace(path, _SCHEME, "")
        if self.encoded:
            rest = F.url_decode(F.replace(rest, F.lit("+"), F.lit("%2B")))
        return F.concat(F.lit(self.group.prefix), rest)

    def _partition(self, kind: t.StructType) -> Column:
        spec = self.plan.context.specs[self.group.spec_id or 0]
        tuples = [
            each
            for part in self.plan.partitions
            for each in canonical_tuples(part.kind, part.tuples)
        ]
        values = dict(
            zip(
                (f.field_id for f in spec.fields),
                tuples[self.group.partition_index or 0],
                strict=True,
            )
        )
        shown = nullable(to_spark(Schema(*kind.fields)))
        columns = [
            _partition_value(field, values.get(field.field_id)).cast(f.dataType).alias(field.name)
            for field, f in zip(kind.fields, shown.fields, strict=True)
        ]
        return F.struct(*columns) if columns else F.struct().cast(shown)


def _partition_value(field: t.NestedField, value: Any) -> Column:
    if value is None:
        return F.lit(None)
    column = literal(field.field_type, value)
    return _uuid_text(column) if isinstance(field.field_type, t.UUIDType) else column


def _uuid_text(column: Column) -> Column:
    dashes = "^(.{8})(.{4})(.{4})(.{4})(.{12})$"
    return F.regexp_replace(F.lower(F.hex(column)), dashes, "$1-$2-$3-$4-$5")
