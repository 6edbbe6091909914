"""How a table's earlier schemas make names in its files differ from the current schema.

Field ids make files of every schema readable. Readers that use names (a row group filter, a
reader without ids) need to know which names are misleading.
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
    """Ids of a schema's fields, nested ones included, by their history.

    `renamed`: files may contain the field under another name. `shared`: in some file the name
    may belong to another field. `younger`: some schema lacks the field. `retyped`: its type
    changed in another way than int to long, float to double, decimal to a wider decimal.
    """

    renamed: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()
    younger: frozenset[int] = frozenset()
    retyped: frozenset[int] = frozenset()


UNCHANGED = FieldHistory()


def field_history(schema: Schema, schemas: Mapping[int, Schema]) -> FieldHistory:
    """Compare a schema with all schemas of its table.

    Full names are compared, ignoring case. A name with special characters counts as renamed,
    because Java escapes it in files. If schemas were removed from the metadata (their ids have a
    gap), every name may be misleading.
    """
    if list(schemas) == [0] and schemas[0] is schema:
        return _of_first(schema)
    everything = frozenset(schema.field_ids)
    complete = set(schemas) >= set(range(max(schemas, default=-1) + 1))
    owners: defaultdict[str, set[int]] = defaultdict(set)
    for version in (schema, *schemas.values()):
        for field_id in version.field_ids:
            owners[_name(version, field_id)].add(field_id)
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
    retyped = set()
    for other in others:
        for field_id in schema.field_ids:
            was = other.get(field_id)
            if was is not None and not _is_alike(was.field_type, schema.find_type(field_id)):
                retyped.add(field_id)
    return frozenset(retyped)


def _is_alike(before: IcebergType, after: IcebergType) -> bool:
    match before, after:
        case (StructType(), StructType()) | (ListType(), ListType()) | (MapType(), MapType()):
            return True  # nested fields are compared separately
        case DecimalType(scale=scale), DecimalType(scale=scale_now):
            return scale == scale_now
        case _:
            widened = _WIDER.get(type(before)) is type(after) or _WIDER.get(type(after)) is type(
                before
            )
            return before == after or widened
