"""The columns by which Spark may skip row groups: those that a file stores as the table has them.

Spark's Parquet reader finds columns by field id. Statistics, dictionaries and Bloom filters it
finds by name, and it converts a filter's constant to the type in the file: a decimal or a long that
does not fit is cut (ParquetFilters, `decimalToInt32`). Table metadata cannot prove the names and
types in files: schemas may have been removed, and files added that were written for another table.
Footers prove them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.arrow.schema import is_list
from iceberg_spark.formats.parquet_head import StoredLeaf
from iceberg_spark.spec import types as t


def unproven(
    fields: Sequence[FileField],
    leaves: Sequence[StoredLeaf],
    columns: Sequence[t.NestedField],
    *,
    by_id: bool,
    exact_names: bool,
) -> tuple[int, ...]:
    """Return the ids of top-level columns by which Spark must not filter, in ascending order.

    Structs among them must not be pruned either, because pruning goes by name too.

    Args:
        fields: the columns of the file.
        leaves: how the file stores its leaf columns.
        columns: the top-level columns to read.
        by_id: the file has field ids. Without them a column has its own name, and only types count.
        exact_names: include a column whose name the file does not have. Without it such a column is
            left out, since no filter can reach another column by mistake.
    """
    proof = _Proof(leaves, by_id, exact_names)
    level = _Level.of(fields)
    return tuple(
        sorted(column.field_id for column in columns if not proof.holds(level, column, top=True))
    )


@dataclass(frozen=True, slots=True)
class _Level:
    """The columns of a file, or the fields of a struct, by id and by lower-case name."""

    by_id: Mapping[int | None, list[FileField]]
    by_name: Mapping[str, list[FileField]]

    @staticmethod
    def of(fields: Sequence[FileField]) -> _Level:
        by_id = defaultdict[int | None, list[FileField]](list)
        by_name = defaultdict[str, list[FileField]](list)
        for field in fields:
            by_id[field.mapped_id if field.own_id is None else field.own_id].append(field)
            by_name[field.name.lower()].append(field)
        return _Level(by_id, by_name)


@dataclass(frozen=True, slots=True)
class _Proof:
    leaves: Sequence[StoredLeaf]
    by_id: bool
    exact_names: bool

    def holds(self, level: _Level, column: t.NestedField, *, top: bool) -> bool:
        of_id = level.by_id.get(column.field_id, [])
        if self.by_id:
            of_name = level.by_name.get(column.name.lower(), [])
            plain = top and not t.child_fields(column.field_type) and not self.exact_names
            if not of_name and (plain or not of_id):
                return True
            if of_name != of_id or of_name[0].name != column.name:
                return False
        return all(self._inside(field, column.field_type) for field in of_id)

    def _inside(self, field: FileField, field_type: t.IcebergType) -> bool:
        match field_type:
            case t.StructType(fields=children):
                if not pt.is_struct(field.kind):
                    return False
                inner = _Level.of(field.children)
                return all(self.holds(inner, child, top=False) for child in children)
            case t.ListType(element_type=kind):
                return is_list(field.kind) and self._inside(field.children[0], kind)
            case t.MapType(key_type=key, value_type=value):
                kinds = zip(field.children, (key, value), strict=True)
                return pt.is_map(field.kind) and all(self._inside(*pair) for pair in kinds)
            case t.VariantType():
                return bool(pt.is_struct(field.kind))  # on which Spark pushes no filter
            case _:
                return len(field.leaves) == 1 and _is_stored(
                    field.kind, self.leaves[field.leaves[0]], field_type
                )


_STORED: Mapping[type, tuple[pa.DataType, str]] = {
    t.BooleanType: (pa.bool_(), "BOOLEAN"),
    t.IntegerType: (pa.int32(), "INT32"),
    t.LongType: (pa.int64(), "INT64"),
    t.FloatType: (pa.float32(), "FLOAT"),
    t.DoubleType: (pa.float64(), "DOUBLE"),
    t.DateType: (pa.date32(), "INT32"),
    t.TimestampType: (pa.timestamp("us"), "INT64"),
    t.TimestamptzType: (pa.timestamp("us", "UTC"), "INT64"),
    t.StringType: (pa.string(), "BYTE_ARRAY"),
    t.BinaryType: (pa.binary(), "BYTE_ARRAY"),
}
_DECIMALS = {"INT32", "INT64", "FIXED_LEN_BYTE_ARRAY"}


def _is_stored(kind: pa.DataType, leaf: StoredLeaf, field_type: t.IcebergType) -> bool:
    """Return whether a leaf has exactly the column's type, not one that is promoted to it."""
    match field_type:
        case t.DecimalType(precision=precision, scale=scale):
            return bool(kind == pa.decimal128(precision, scale)) and leaf.physical in _DECIMALS
        case t.FixedType() | t.UUIDType():
            return leaf.physical == "FIXED_LEN_BYTE_ARRAY"  # on which Spark pushes no filter
        case t.StringType() if leaf.logical != "STRING":
            return False
        case _:
            return (kind, leaf.physical) == _STORED.get(type(field_type))
