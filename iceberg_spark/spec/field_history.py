"""What a table's earlier schemas say about how its files may differ from a schema.

Field ids make files of every schema readable. Readers that look at names too (a row group filter,
a reader without ids) have to know which names can mislead.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StructType,
)

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WIDER: Mapping[type, type] = {IntegerType: LongType, FloatType: DoubleType}


@dataclass(frozen=True, slots=True)
class FieldHistory:
    """Field ids of a schema (nested ones too) by what happened to them; empty: nothing.

    `renamed`: files may have the field under another name. `shared`: its name may be another
    field's in a file. `younger`: some schema lacks it. `retyped`: its type changed other than
    int to long, float to double, decimal to a wider one.
    """

    renamed: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()
    younger: frozenset[int] = frozenset()
    retyped: frozenset[int] = frozenset()


UNCHANGED = FieldHistory()


def field_history(schema: Schema, schemas: Mapping[int, Schema]) -> FieldHistory:
    """Compare a schema with all schemas of its table.

    Names are compared as full names without regard to case. A name that is no plain word counts
    as renamed, because Java writes it changed into files. Where schemas were removed from the
    metadata (their ids have a gap) every name may mislead.
    """
    if list(schemas) == [0] and schemas[0] is schema:
        return _of_first(schema)
    everything = frozenset(schema.field_ids)
    complete = set(schemas) >= set(range(max(schemas, default=-1) + 1))
    owners: defaultdict[str, set[int]] = defaultdict(set)
    for each in (schema, *schemas.values()):
        for field_id in each.field_ids:
            owners[_name(each, field_id)].add(field_id)
    if not complete:
        return FieldHistory(everything, everything, everything, _retyped(schema, schemas.values()))
    return FieldHistory(
        frozenset(i for i in everything if _is_renamed(schema, i, schemas.values())),
        frozenset(i for i in everything if len(owners[_name(schema, i)]) > 1),
        frozenset(i for i in everything if any(s.get(i) is None for s in schemas.values())),
        _retyped(schema, schemas.values()),
    )


def _of_first(schema: Schema) -> FieldHistory:
    """Return the history of the only schema that a table ever had, which has nothing to compare."""
    names = [name.lower() for name in schema.column_names]
    times = Counter(names)
    return FieldHistory(
        renamed=frozenset(i for i in schema.field_ids if not _is_plain(schema, i)),
        shared=frozenset(
            i for i, name in zip(schema.field_ids, names, strict=True) if times[name] > 1
        ),
    )


def _name(schema: Schema, field_id: int) -> str:
    return (schema.find_column_name(field_id) or "").lower()


def _is_renamed(schema: Schema, field_id: int, others: Iterable[Schema]) -> bool:
    if not _is_plain(schema, field_id):
        return True
    name = schema.find_column_name(field_id)
    return any(s.find_column_name(field_id) not in {None, name} for s in others)


def _is_plain(schema: Schema, field_id: int) -> bool:
    return _PLAIN.fullmatch(schema.find_field(field_id).name) is not None


def _retyped(schema: Schema, others: Iterable[Schema]) -> frozenset[int]:
    found = set()
    for other in others:
        for field_id in schema.field_ids:
            was = other.get(field_id)
            if was is not None and not _is_alike(was.field_type, schema.find_type(field_id)):
                found.add(field_id)
    return frozenset(found)


def _is_alike(one: IcebergType, other: IcebergType) -> bool:
    match one, other:
        case (StructType(), StructType()) | (ListType(), ListType()) | (MapType(), MapType()):
            return True  # what is inside is compared by itself
        case DecimalType(scale=scale), DecimalType(scale=scale_now):
            return scale == scale_now
        case _:
            widened = _WIDER.get(type(one)) is type(other) or _WIDER.get(type(other)) is type(one)
            return one == other or widened
