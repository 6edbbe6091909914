"""File columns to the requested schema by field id, compiled once per file, applied per batch.

Source: specification, "Column Projection", "Default values", "Schema Evolution".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import (
    Step,
    batch_of,
    map_list,
    map_struct,
    null_column,
    plain_list,
    struct_children,
    struct_of,
)
from iceberg_spark.arrow.file_fields import FileField
from iceberg_spark.arrow.promote import leaf_step, storage_type
from iceberg_spark.arrow.schema import is_list, to_arrow_field, to_arrow_type
from iceberg_spark.arrow.values import to_scalar
from iceberg_spark.arrow.variant_layout import (
    TYPED,
    VARIANT,
    is_stored_variant,
    is_variant,
    plain_variant,
)
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.lazy import LazyFunction
from iceberg_spark.spec import types as t

_reassembled = LazyFunction("iceberg_spark.arrow.variant.reassemble", "reassemble")

Fill = Callable[[int], pa.Array]
"""From a number of rows to a column that the file does not have."""
Constants = Mapping[int, pa.Scalar]
"""Values by field id from metadata instead of the file."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The file's child at `index`, converted by `step` if necessary."""

    index: int
    step: Step | None


_Source = _Read | Fill


@dataclass(frozen=True, slots=True)
class Evolution:
    """How batches of one file become batches of the requested schema."""

    schema: pa.Schema
    sources: tuple[_Source, ...]

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch with exactly `schema`; columns that need no conversion are shared."""
        rows = batch.num_rows
        columns = batch.columns  # makes all of them each time it is asked
        evolved = [_column(source, columns, rows) for source in self.sources]
        return batch_of(rows, evolved, self.schema)


def evolution(
    fields: tuple[FileField, ...],
    expected: Sequence[t.NestedField],
    constants: Constants,
    where: str,
) -> Evolution:
    """Compile the conversion of a reader's columns `fields` to the `expected` ones.

    A field that the file lacks is filled by, in this order: its constant (identity partition
    value), a column to which a name mapping gives its id, its `initial-default`, null. Raises
    CorruptFileError naming the column and `where` for a type that can't be read as the expected
    one, or a required column without any of these.
    """
    schema = pa.schema([to_arrow_field(field) for field in expected])
    compiler = _Compiler(constants, where)
    return Evolution(schema, tuple(compiler.sources(fields, expected, "")))


def needed_leaves(
    fields: tuple[FileField, ...], expected: Sequence[t.NestedField], constants: Constants
) -> frozenset[int]:
    """Return the primitive columns of a file that have to be read for the expected fields.

    A struct of which only children that the file lacks are expected still needs one of its old
    children, to distinguish a null struct from a struct of nulls.
    """
    finder = _finder(fields, constants)
    leaves: set[int] = set()
    for field in expected:
        source = finder.find(field)
        if isinstance(source, int):
            leaves |= _leaves_for(fields[source], field.field_type, constants)
    return frozenset(leaves)


def _leaves_for(source: FileField, expected: t.IcebergType, constants: Constants) -> frozenset[int]:
    match expected:
        case t.UnknownType():
            return frozenset()
        case t.StructType() | t.ListType() | t.MapType():
            inner = needed_leaves(source.children, _paired(source, expected), constants)
        case _:
            return frozenset(source.leaves)
    if pt.is_map(source.kind) and source.children:
        inner |= frozenset(source.children[0].leaves)
        inner |= _at_least_one(source.children[1], inner)
    return inner | _at_least_one(source, inner)


def _at_least_one(source: FileField, chosen: frozenset[int]) -> frozenset[int]:
    if chosen.intersection(source.leaves) or not source.leaves:
        return frozenset()
    return _cheapest(source)[1]


def _cheapest(source: FileField) -> tuple[int, frozenset[int]]:
    """Return the leaves that reveal the nulls of a field at the least cost, and that cost.

    Leaves with few lists above them and a fixed width are cheap; a map also needs its keys.
    """
    if not source.children:
        variable = not (pt.is_primitive(source.kind) or pt.is_decimal(source.kind))
        return int(variable), frozenset(source.leaves)
    inner = [_cheapest(child) for child in source.children if child.leaves]
    if pt.is_map(source.kind):
        return inner[-1][0] + 4, inner[-1][1].union(source.children[0].leaves)
    cost, leaves = min(inner, key=lambda candidate: (candidate[0], min(candidate[1])))
    return cost + 2 * is_list(source.kind), leaves


def _paired(source: FileField, expected: t.IcebergType) -> tuple[t.NestedField, ...]:
    """Return the expected children; elements, keys and values without an id in the file match."""
    fields = t.child_fields(expected)
    if isinstance(expected, t.StructType):
        return fields
    return tuple(
        _with_id(field, child) for field, child in zip(fields, source.children, strict=False)
    )


def _with_id(field: t.NestedField, child: FileField) -> t.NestedField:
    """A list has one element, whatever its writer called it (Spark's has no id)."""
    if child.own_id is None and child.mapped_id is None:
        return t.NestedField(-1, field.name, field.field_type, field.required)
    return field


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds fields among a file's by id, without a scan over all of them."""

    own: Mapping[int, int]
    mapped: Mapping[int, int]
    constants: Constants

    def find(self, expected: t.NestedField) -> int | pa.Scalar | None:
        """Return the index of the field with an expected one's values, or its constant.

        None: there is neither, and its default applies.
        """
        if isinstance(expected.field_type, t.UnknownType):
            return None
        index = self.own.get(expected.field_id)
        if index is None and expected.field_id in self.constants:
            return self.constants[expected.field_id]
        return self.mapped.get(expected.field_id) if index is None else index


def _finder(fields: Sequence[FileField], constants: Constants) -> _Finder:
    """Index fields by their ids; the first of several with one id counts."""
    own: dict[int, int] = {}
    mapped: dict[int, int] = {}
    for index, field in enumerate(fields):
        if field.own_id is None:
            mapped.setdefault(field.mapped_id or -1, index)
        else:
            own.setdefault(field.own_id, index)
    return _Finder(own, mapped, constants)


def _column(source: _Source, columns: Sequence[pa.Array], rows: int) -> pa.Array:
    match source:
        case _Read(index=index, step=None):
            return columns[index]
        case _Read(index=index, step=step) if step is not None:
            return step(columns[index])
        case _:
            return source(rows)  # type: ignore[operator]  # a Fill; Callable has no class to match


@dataclass(frozen=True, slots=True)
class _Compiler:
    constants: Constants
    where: str

    def sources(
        self, fields: tuple[FileField, ...], expected: Sequence[t.NestedField], parent: str
    ) -> list[_Source]:
        return self._sources_at(fields, expected, [f"{parent}{field.name}" for field in expected])

    def _sources_at(
        self,
        fields: tuple[FileField, ...],
        expected: Sequence[t.NestedField],
        paths: Sequence[str],
    ) -> list[_Source]:
        finder = _finder(fields, self.constants)
        return [
            self._source(fields, finder, field, path)
            for field, path in zip(expected, paths, strict=True)
        ]

    def _source(
        self, fields: tuple[FileField, ...], finder: _Finder, expected: t.NestedField, path: str
    ) -> _Source:
        origin = finder.find(expected)
        if isinstance(origin, int):
            return _Read(origin, self._step(fields[origin], expected.field_type, path))
        if origin is not None:
            return _constant(origin.cast(to_arrow_type(expected.field_type, path)))
        return self._default(expected, path)

    def _step(self, stored: FileField, expected: t.IcebergType, path: str) -> Step | None:
        target = to_arrow_type(expected, path)
        match expected:
            case t.StructType(fields=fields):
                self._check(pt.is_struct(stored.kind), stored, expected, path)
                return self._struct(stored, fields, target, path)
            case t.ListType():
                self._check(is_list(stored.kind), stored, expected, path)
                return self._list(stored, expected, target, path)
            case t.MapType():
                self._check(pt.is_map(stored.kind), stored, expected, path)
                return self._map(stored, expected, target, path)
            case t.VariantType():
                return self._variant(stored, expected, path)
            case _:
                return leaf_step(stored.kind, expected, path, self.where)

    def _variant(self, stored: FileField, expected: t.IcebergType, path: str) -> Step | None:
        names = {child.name for child in stored.children}
        self._check(is_stored_variant(stored.kind), stored, expected, path)
        if TYPED in names:
            return self._naming(_reassembled, path)
        self._check(is_variant(stored.kind), stored, expected, path)
        return None if stored.kind == VARIANT else plain_variant

    def _naming(self, step: Step, path: str) -> Step:
        """Return the step with errors that name the column and the file."""

        def named(array: pa.Array) -> pa.Array:
            try:
                return step(array)
            except CorruptFileError as cause:
                raise CorruptFileError(f"Column '{path}' of {self.where}: {cause}") from cause

        return named

    def _check(self, fits: bool, stored: FileField, expected: t.IcebergType, path: str) -> None:
        if not fits:
            raise CorruptFileError(
                f"Column '{path}' of {self.where} holds {stored.kind}, which can't be read as "
                f"{expected}"
            )

    def _struct(
        self, stored: FileField, expected: tuple[t.NestedField, ...], target: pa.DataType, path: str
    ) -> Step:
        sources = self.sources(stored.children, expected, f"{path}.")

        def convert(array: pa.Array) -> pa.Array:
            children = struct_children(array)
            evolved = [_column(source, children, len(array)) for source in sources]
            return map_struct(array, evolved, target)

        return convert

    def _list(
        self, stored: FileField, expected: t.ListType, target: pa.DataType, path: str
    ) -> Step:
        (element,) = self._children(stored, expected, path)
        if pt.is_list(stored.kind):
            return lambda array: map_list(array, element, target)
        return lambda array: map_list(plain_list(array), element, target)

    def _map(self, stored: FileField, expected: t.MapType, target: pa.DataType, path: str) -> Step:
        key, value = self._children(stored, expected, path)
        entries = pa.struct([target.key_field, target.item_field])

        def convert_entries(array: pa.Array) -> pa.Array:
            keys, values = struct_children(array)
            return struct_of(len(array), (key(keys), value(values)), entries)

        return lambda array: map_list(array, convert_entries, target)

    def _children(self, stored: FileField, expected: t.IcebergType, path: str) -> list[Step]:
        """Return a step for the element of a list, or for the key and the value of a map."""
        steps = []
        for field, paired, child in zip(
            t.child_fields(expected), _paired(stored, expected), stored.children, strict=True
        ):
            where = f"{path}.{field.name}"
            if paired.field_id < 0:
                step = self._step(child, field.field_type, where)
                steps.append(step or _same)
            else:
                (source,) = self._sources_at((child,), (field,), (where,))
                steps.append(_from_one(source))
        return steps

    def _default(self, expected: t.NestedField, path: str) -> Fill:
        kind = to_arrow_type(expected.field_type, path)
        if expected.initial_default is None:
            if expected.required:
                raise CorruptFileError(
                    f"Column '{path}' is required, has no default, and is missing from {self.where}"
                )
            return lambda rows: pa.nulls(rows, kind)
        if isinstance(expected.field_type, t.StructType):
            return self._default_struct(expected.field_type, kind, path)
        return lambda rows: default_array(expected, rows, written=False, path=path)

    def _default_struct(self, expected: t.StructType, kind: pa.DataType, path: str) -> Fill:
        """A struct's default only means that it is not null; its fields have their own."""
        fills = [self._default(field, f"{path}.{field.name}") for field in expected.fields]
        return lambda rows: struct_of(rows, [fill(rows) for fill in fills], kind)


def _constant(value: pa.Scalar) -> Fill:
    if not value.is_valid:
        return lambda rows: pa.nulls(rows, value.type)
    return lambda rows: pa.repeat(value, rows)


def _same(array: pa.Array) -> pa.Array:
    return array


def _from_one(source: _Source) -> Step:
    return lambda array: _column(source, (array,), len(array))


def leaf_types(fields: tuple[FileField, ...]) -> dict[int, pa.DataType]:
    """Return the plain Arrow type of every primitive column by its number."""
    types: dict[int, pa.DataType] = {}
    for field in fields:
        if field.children:
            types |= leaf_types(field.children)
        else:
            types |= dict.fromkeys(field.leaves, storage_type(field.kind))
    return types


def default_array(field: t.NestedField, rows: int, *, written: bool, path: str = "") -> pa.Array:
    """Return a column of a field's default, null if it has none.

    `written` selects `write-default` instead of `initial-default`. A struct's default only means
    that it is not null: its fields have their own (specification, "Default values").
    """
    kind = to_arrow_type(field.field_type, path or field.name)
    value = field.write_default if written else field.initial_default
    if value is None:
        return null_column(rows, kind)
    if isinstance(field.field_type, t.StructType):
        inner = [default_array(child, rows, written=written) for child in field.field_type.fields]
        return struct_of(rows, inner, kind)
    if not isinstance(field.field_type, t.ListType | t.MapType):
        return pa.repeat(to_scalar(field.field_type, value), rows)
    return _repeated(_nested(field.field_type, value, written=written), kind, rows)


def _repeated(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    return pa.array([value], kind).take(pa.repeat(pa.scalar(0, pa.int32()), rows))


def _nested(kind: t.IcebergType, value: Any, *, written: bool) -> Any:
    """Return a canonical value in the form that Arrow's builders accept."""
    match kind:
        case _ if value is None:
            return None
        case t.StructType(fields=fields):
            values: Mapping[int, Any] = dict(value)
            return {
                child.name: _nested(
                    child.field_type,
                    values.get(
                        child.field_id, child.write_default if written else child.initial_default
                    ),
                    written=written,
                )
                for child in fields
            }
        case t.ListType(element_type=element):
            return [_nested(element, part, written=written) for part in value]
        case t.MapType(key_type=key, value_type=item):
            return [
                (
                    _nested(key, entry_key, written=written),
                    _nested(item, entry_value, written=written),
                )
                for entry_key, entry_value in value
            ]
        case t.UUIDType():
            return value.bytes
        case _:
            return value
