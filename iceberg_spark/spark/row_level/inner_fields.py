"""The fields inside of columns that are stored, matched to the table's as Spark matches them.

`DataFrame.to` casts what is stored, and finds fields in structs by name: those that the rows lack
become NULL, those that the table lacks are dropped. Nothing of that may happen unsaid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spark.adapt.many_columns import by_position, plain, renamed
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spec.nearest import listed

_Spelt: TypeAlias = Callable[[str], str]


def with_inner_names(rows: DataFrame, wanted: Sequence[StructField]) -> DataFrame:
    """Return rows whose fields inside of columns have the table's names, place by place.

    `wanted` are the table's columns, one for each of the rows'. Raises InvalidSchemaError naming a
    struct that has more or fewer fields.
    """
    if not _any_struct(wanted):
        return rows
    given = rows.schema.fields
    kinds = [
        _named(one.dataType, field.dataType, field.name)
        for one, field in zip(given, wanted, strict=True)
    ]
    if all(kind == one.dataType for kind, one in zip(kinds, given, strict=True)):
        return rows
    # A struct is cast to another by the places of its fields.
    made = [
        sf.col(plain(place)) if kind == one.dataType else sf.col(plain(place)).cast(kind)
        for place, (kind, one) in enumerate(zip(kinds, given, strict=True))
    ]
    return renamed(by_position(rows).select(*made), rows.columns)


def check_inner_names(rows: DataFrame, wanted: Sequence[StructField]) -> None:
    """Refuse rows with other fields inside of a column than the table has; their order is free.

    `wanted` are the table's columns, one for each of the rows'. Raises InvalidSchemaError naming
    the fields that are missing or too many.
    """
    for path, given, kind, spelt in _structs_of(rows, wanted):
        missing = [f"'{path}.{name}'" for name in _lacking(given, kind, spelt)]
        if missing:
            raise InvalidSchemaError(
                f"The rows lack the fields {listed(missing)}: they have {_names(given)} in "
                f"'{path}'; give all of its fields, NULL where there is no value"
            )
        extra = [f"'{path}.{name}'" for name in _lacking(kind, given, spelt)]
        if extra:
            raise InvalidSchemaError(
                f"The table has no fields {listed(extra)}: it has {_names(kind)} in '{path}'"
            )


def _structs_of(
    rows: DataFrame, wanted: Sequence[StructField]
) -> Iterator[tuple[str, StructType, StructType, _Spelt]]:
    """Yield the structs of rows and table that belong together, and how names are looked up."""
    if not _any_struct(wanted):
        return
    spelt: _Spelt = str if is_case_sensitive(rows.sparkSession) else str.lower
    for one, field in zip(rows.schema.fields, wanted, strict=True):
        for path, given, kind in _pairs(one.dataType, field.dataType, field.name, spelt):
            yield path, given, kind, spelt


def _pairs(
    given: DataType, wanted: DataType, path: str, spelt: _Spelt
) -> Iterator[tuple[str, StructType, StructType]]:
    match given, wanted:
        case StructType(), StructType():
            yield path, given, wanted
            found = {spelt(field.name): field.dataType for field in given.fields}
            for field in wanted.fields:
                inner = found.get(spelt(field.name))
                if inner is not None:
                    yield from _pairs(inner, field.dataType, f"{path}.{field.name}", spelt)
        case ArrayType(), ArrayType():
            yield from _pairs(given.elementType, wanted.elementType, f"{path}.element", spelt)
        case MapType(), MapType():
            yield from _pairs(given.keyType, wanted.keyType, f"{path}.key", spelt)
            yield from _pairs(given.valueType, wanted.valueType, f"{path}.value", spelt)
        case _:
            return


def _lacking(struct: StructType, other: StructType, spelt: _Spelt) -> list[str]:
    """Return the names of another struct's fields that a struct has not."""
    known = {spelt(name) for name in struct.names}
    return [name for name in other.names if spelt(name) not in known]


def _any_struct(fields: Iterable[StructField]) -> bool:
    """Return whether there is a struct in a column: else nothing needs to be asked of Spark."""
    return any(has_struct(field.dataType) for field in fields)


def has_struct(kind: DataType) -> bool:
    """Return whether a type is a struct or has one in it."""
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
    return f"({listed(struct.names)})"


def _named(given: DataType, wanted: DataType, path: str) -> DataType:
    """Return a type with the names of another one's fields; types themselves are others' matter."""
    match given, wanted:
        case StructType(), StructType():
            if len(given.fields) != len(wanted.fields):
                raise InvalidSchemaError(
                    f"Column '{path}' has the fields {_names(wanted)} in the table, and the rows "
                    f"have {_names(given)} there; fields are matched by position"
                )
            pairs = zip(given.fields, wanted.fields, strict=True)
            return StructType(
                [
                    StructField(
                        field.name,
                        _named(one.dataType, field.dataType, f"{path}.{field.name}"),
                        one.nullable,
                        one.metadata,
                    )
                    for one, field in pairs
                ]
            )
        case ArrayType(), ArrayType():
            element = _named(given.elementType, wanted.elementType, f"{path}.element")
            return ArrayType(element, given.containsNull)
        case MapType(), MapType():
            return MapType(
                _named(given.keyType, wanted.keyType, f"{path}.key"),
                _named(given.valueType, wanted.valueType, f"{path}.value"),
                given.valueContainsNull,
            )
        case _:
            return given
