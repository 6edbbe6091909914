"""Nested fields of stored columns, matched to the table's as Spark matches them.

`DataFrame.to` finds fields in structs by name: it fills missing ones with NULL and drops others.
The functions here raise an error instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from iceberg_spark.errors import ExtraFieldsError, MissingFieldsError
from iceberg_spark.spark.adapt.many_columns import by_position, plain, rename_columns
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.error_conditions import STRUCT_MISSING_FIELDS, with_condition
from iceberg_spark.spec.nearest import name_list

_Spelt: TypeAlias = Callable[[str], str]


def with_inner_names(rows: DataFrame, table_fields: Sequence[StructField]) -> DataFrame:
    """Return rows whose nested fields have the names of the table's, by position.

    `table_fields` are the table's columns, one for each column of the rows. Raises
    InvalidSchemaError naming a struct that has more or fewer fields.
    """
    if not _any_struct(table_fields):
        return rows
    row_fields = rows.schema.fields
    kinds = [
        _named(row_field.dataType, field.dataType, field.name)
        for row_field, field in zip(row_fields, table_fields, strict=True)
    ]
    if all(kind == row_field.dataType for kind, row_field in zip(kinds, row_fields, strict=True)):
        return rows
    # A struct is cast to another by the places of its fields.
    columns = [
        sf.col(plain(index)) if kind == row_field.dataType else sf.col(plain(index)).cast(kind)
        for index, (kind, row_field) in enumerate(zip(kinds, row_fields, strict=True))
    ]
    return rename_columns(by_position(rows).select(*columns), rows.columns)


def check_inner_names(rows: DataFrame, table_fields: Sequence[StructField]) -> None:
    """Refuse rows whose nested fields differ from the table's; their order is free.

    `table_fields` are the table's columns, one for each column of the rows. Raises
    InvalidSchemaError naming the fields that are missing or not in the table.
    """
    for path, row_type, kind, spelt in _structs_of(rows, table_fields):
        missing = [f"'{path}.{name}'" for name in _lacking(row_type, kind, spelt)]
        if missing:
            raise MissingFieldsError(
                f"The rows lack the fields {name_list(missing)}: they have {_names(row_type)} in "
                f"'{path}'; give all of its fields, NULL where there is no value"
            )
        extra = [f"'{path}.{name}'" for name in _lacking(kind, row_type, spelt)]
        if extra:
            raise ExtraFieldsError(
                f"The table has no fields {name_list(extra)}: it has {_names(kind)} in '{path}'"
            )


def _structs_of(
    rows: DataFrame, table_fields: Sequence[StructField]
) -> Iterator[tuple[str, StructType, StructType, _Spelt]]:
    """Yield corresponding structs of rows and table, and how their names are compared."""
    if not _any_struct(table_fields):
        return
    spelt: _Spelt = str if is_case_sensitive(rows.sparkSession) else str.lower
    for row_field, field in zip(rows.schema.fields, table_fields, strict=True):
        for path, row_type, kind in _pairs(row_field.dataType, field.dataType, field.name, spelt):
            yield path, row_type, kind, spelt


def _pairs(
    row_type: DataType, table_type: DataType, path: str, spelt: _Spelt
) -> Iterator[tuple[str, StructType, StructType]]:
    match row_type, table_type:
        case StructType(), StructType():
            yield path, row_type, table_type
            inner_types = {spelt(field.name): field.dataType for field in row_type.fields}
            for field in table_type.fields:
                inner = inner_types.get(spelt(field.name))
                if inner is not None:
                    yield from _pairs(inner, field.dataType, f"{path}.{field.name}", spelt)
        case ArrayType(), ArrayType():
            yield from _pairs(
                row_type.elementType, table_type.elementType, f"{path}.element", spelt
            )
        case MapType(), MapType():
            yield from _pairs(row_type.keyType, table_type.keyType, f"{path}.key", spelt)
            yield from _pairs(row_type.valueType, table_type.valueType, f"{path}.value", spelt)
        case _:
            return


def _lacking(struct: StructType, other: StructType, spelt: _Spelt) -> list[str]:
    """Return the names of another struct's fields that a struct lacks."""
    own_names = {spelt(name) for name in struct.names}
    return [name for name in other.names if spelt(name) not in own_names]


def _any_struct(fields: Iterable[StructField]) -> bool:
    """Return whether a column is a struct or contains one."""
    return any(has_struct(field.dataType) for field in fields)


def has_struct(kind: DataType) -> bool:
    """Return whether a type is a struct or contains one."""
    match kind:
        case StructType():
            return True
        case ArrayType(elementType=element):
            return has_struct(element)
        case MapType(keyType=key, valueType=value):
            return has_struct(key) or has_struct(value)
        case _:
            return False


def _names(struct: StructType) -> str:
    return f"({name_list(struct.names)})"


def _named(row_type: DataType, table_type: DataType, path: str) -> DataType:
    """Return a type with the field names of another one."""
    match row_type, table_type:
        case StructType(), StructType():
            if len(row_type.fields) != len(table_type.fields):
                is_short = len(row_type.fields) < len(table_type.fields)
                kind = MissingFieldsError if is_short else ExtraFieldsError
                error = kind(
                    f"Column '{path}' has the fields {_names(table_type)} in the table, and the "
                    f"rows have {_names(row_type)} there; fields are matched by position"
                )
                raise with_condition(error, STRUCT_MISSING_FIELDS) if is_short else error
            pairs = zip(row_type.fields, table_type.fields, strict=True)
            return StructType(
                [
                    StructField(
                        field.name,
                        _named(row_field.dataType, field.dataType, f"{path}.{field.name}"),
                        row_field.nullable,
                        row_field.metadata,
                    )
                    for row_field, field in pairs
                ]
            )
        case ArrayType(), ArrayType():
            element = _named(row_type.elementType, table_type.elementType, f"{path}.element")
            return ArrayType(element, row_type.containsNull)
        case MapType(), MapType():
            return MapType(
                _named(row_type.keyType, table_type.keyType, f"{path}.key"),
                _named(row_type.valueType, table_type.valueType, f"{path}.value"),
                row_type.valueContainsNull,
            )
        case _:
            return row_type
