"""Any file read with any later schema, against the rules written out value by value."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema
from tests.builders import field
from tests.unit.read.files import context, read, task, write

PROMOTED = {"int": "long", "float": "double", "decimal(9, 2)": "decimal(18, 2)"}
VALUES: dict[str, st.SearchStrategy] = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "decimal(9, 2)": st.decimals(-9_999_999, 9_999_999, places=2),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    "boolean": st.booleans(),
}


class Ids:
    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        self.last += 1
        return self.last


def fields(draw: Any, ids: Ids, depth: int) -> tuple[t.NestedField, ...]:
    count = draw(st.integers(1, 3))
    return tuple(field(ids.next(), f"c{ids.last}", kind_of(draw, ids, depth)) for _ in range(count))


def kind_of(draw: Any, ids: Ids, depth: int) -> Any:
    shape = draw(st.sampled_from(["leaf", "struct", "list", "map"])) if depth else "leaf"
    match shape:
        case "struct":
            return t.StructType(*fields(draw, ids, depth - 1))
        case "list":
            return t.ListType(ids.next(), field(1, "x", kind_of(draw, ids, depth - 1)).field_type)
        case "map":
            value = field(1, "x", kind_of(draw, ids, depth - 1)).field_type
            return t.MapType(ids.next(), t.StringType(), ids.next(), value)
        case _:
            return draw(st.sampled_from(list(VALUES)))


def later(draw: Any, ids: Ids, kept: tuple[t.NestedField, ...]) -> tuple[t.NestedField, ...]:
    """Drop, rename, promote, add and reorder fields."""
    found = [
        field(old.field_id, draw(st.sampled_from([old.name, f"renamed{old.field_id}"])), kind)
        for old in kept
        if draw(st.booleans())
        for kind in [later_kind(draw, ids, old.field_type)]
    ]
    if not found or draw(st.booleans()):
        default = draw(st.sampled_from([None, 7]))
        taken = draw(st.sampled_from([kept[0].name, "added"]))
        name = taken if all(one.name != taken for one in found) else f"added{ids.last}"
        found.append(field(ids.next(), name, "long", initial_default=default))
    return tuple(draw(st.permutations(found)))


def later_kind(draw: Any, ids: Ids, kind: t.IcebergType) -> Any:
    match kind:
        case t.StructType(fields=inner):
            return t.StructType(*later(draw, ids, inner))
        case t.ListType():
            element = later_kind(draw, ids, kind.element_type)
            return t.ListType(kind.element_id, field(1, "x", element).field_type)
        case t.MapType():
            value = field(1, "x", later_kind(draw, ids, kind.value_type)).field_type
            return t.MapType(kind.key_id, kind.key_type, kind.value_id, value)
        case _:
            wider = PROMOTED.get(str(kind), str(kind))
            return draw(st.sampled_from([str(kind), wider]))


def value_of(draw: Any, kind: t.IcebergType) -> Any:
    if draw(st.integers(0, 4)) == 0:
        return None
    match kind:
        case t.StructType(fields=inner):
            return {one.name: value_of(draw, one.field_type) for one in inner}
        case t.ListType():
            return [value_of(draw, kind.element_type) for _ in range(draw(st.integers(0, 3)))]
        case t.MapType():
            return [
                (f"k{i}", value_of(draw, kind.value_type)) for i in range(draw(st.integers(0, 2)))
            ]
        case _:
            return draw(VALUES[str(kind)])


def expected(value: Any, old: t.IcebergType, new: t.IcebergType) -> Any:
    if value is None:
        return None
    match old, new:
        case t.StructType(fields=before), t.StructType(fields=after):
            by_id = {one.field_id: one for one in before}
            return {
                one.name: expected(
                    value[by_id[one.field_id].name], by_id[one.field_id].field_type, one.field_type
                )
                if one.field_id in by_id
                else one.initial_default
                for one in after
            }
        case t.ListType(), t.ListType():
            return [expected(item, old.element_type, new.element_type) for item in value]
        case t.MapType(), t.MapType():
            return [(key, expected(item, old.value_type, new.value_type)) for key, item in value]
        case _:
            return value


@st.composite
def evolved_tables(draw: Any) -> tuple[Schema, Schema, list[dict], int]:
    ids = Ids()
    old = Schema(*fields(draw, ids, 3))
    new = Schema(*later(draw, ids, old.fields))
    rows = [
        {one.name: value_of(draw, one.field_type) for one in old.fields}
        for _ in range(draw(st.integers(1, 12)))
    ]
    return old, new, rows, draw(st.integers(1, 13))


@settings(max_examples=150)
@given(evolved_tables())
def test_every_value_is_found_by_its_id_or_is_its_default(tables):
    old, new, rows, batch_rows = tables
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "f", old, rows, row_group_size=5)
        found = read(context(new, batch_rows=batch_rows), task(path))
    kinds = old.as_struct(), new.as_struct()
    assert found.to_pylist() == [expected(row, *kinds) for row in rows]
    assert found.schema == to_arrow(new)
