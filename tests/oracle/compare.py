"""Are two results the same rows? Order does not count; bits do (NaN, -0.0, microseconds)."""

import struct
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.types as pat

Canonical = Any
SHOWN = 5


def canonical_type(kind: pa.DataType) -> str:
    """Name a type by what it means: large and dictionary forms, zone spellings count the same."""
    if pat.is_dictionary(kind):
        return canonical_type(kind.value_type)
    if pat.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if pat.is_string(kind) or pat.is_large_string(kind) or pat.is_string_view(kind):
        return "string"
    if pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_binary_view(kind):
        return "binary"
    if pat.is_fixed_size_binary(kind):
        return "binary"
    if pat.is_map(kind):
        return f"map<{canonical_type(kind.key_type)}, {canonical_type(kind.item_type)}>"
    if pat.is_list(kind) or pat.is_large_list(kind):
        return f"list<{canonical_type(kind.value_type)}>"
    if pat.is_struct(kind):
        return f"struct<{', '.join(f'{f.name}: {canonical_type(f.type)}' for f in kind)}>"
    return str(kind)


def canonical_schema(schema: pa.Schema) -> dict[str, str]:
    """Return column name to canonical type."""
    return {field.name: canonical_type(field.type) for field in schema}


def canonical_column(column: pa.ChunkedArray | pa.Array) -> list[Canonical]:
    """Return hashable values, equal exactly when the column's values are the same bits."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind)
    if pat.is_dictionary(kind):
        return canonical_column(column.cast(kind.value_type))
    if pat.is_timestamp(kind):
        micros = column.cast(pa.timestamp("us", tz=kind.tz)) if kind.unit != "us" else column
        return micros.cast(pa.int64()).to_pylist()
    if pat.is_date(kind):
        return column.cast(pa.date32()).cast(pa.int32()).to_pylist()
    if pat.is_floating(kind):
        return [None if v is None else _bits(v) for v in column.to_pylist()]
    if pat.is_struct(kind):
        children = [canonical_column(column.field(n)) for n in range(kind.num_fields)]
        names = [field.name for field in kind]
        return [
            tuple(zip(names, values, strict=True)) if valid else None
            for valid, values in _validity_and_rows(column, children)
        ]
    if pat.is_map(kind):
        return [None if v is None else tuple(sorted(v, key=repr)) for v in _map_entries(column)]
    if pat.is_list(kind) or pat.is_large_list(kind):
        flat = canonical_column(column.values)
        return _slices(column, flat)
    return column.to_pylist()


def _bits(value: float) -> str:
    return "NaN" if value != value else struct.pack(">d", value).hex()  # noqa: PLR0124


def _validity_and_rows(column: pa.Array, children: list[list[Any]]) -> Any:
    rows = zip(*children, strict=True) if children else ([()] * len(column))
    return zip(column.is_valid().to_pylist(), rows, strict=True)


def _slices(column: pa.Array, flat: list[Any]) -> list[Any]:
    offsets = column.offsets.to_pylist()
    valid = column.is_valid().to_pylist()
    return [
        tuple(flat[offsets[n] : offsets[n + 1]]) if valid[n] else None for n in range(len(column))
    ]


def _map_entries(column: pa.Array) -> list[Any]:
    keys, items = canonical_column(column.keys), canonical_column(column.items)
    return _slices(column, list(zip(keys, items, strict=True)))


def canonical_rows(result: pa.Table, columns: list[str] | None = None) -> list[tuple[Any, ...]]:
    """Return the rows as hashable tuples, columns in the order given."""
    names = result.column_names if columns is None else columns
    return list(zip(*[canonical_column(result[name]) for name in names], strict=True))


def assert_same_rows(expected: pa.Table, actual: pa.Table, *, what: str = "rows") -> None:
    """Assert that both have the same columns, types and multiset of rows; show what differs."""
    left, right = canonical_schema(expected.schema), canonical_schema(actual.schema)
    assert list(left) == list(right), f"{what}: columns {list(left)} expected, got {list(right)}"
    types = {name: (left[name], right[name]) for name in left if left[name] != right[name]}
    assert not types, f"{what}: column types (expected, got) {types}"
    wanted, got = Counter(canonical_rows(expected)), Counter(canonical_rows(actual))
    missing, surplus = list((wanted - got).elements()), list((got - wanted).elements())
    assert not missing and not surplus, _difference(what, expected, missing, surplus)


def same_rows(expected: pa.Table, actual: pa.Table) -> bool:
    """Return whether both hold the same multiset of rows, by column name."""
    if set(expected.column_names) != set(actual.column_names):
        return False
    names = expected.column_names
    return Counter(canonical_rows(expected)) == Counter(canonical_rows(actual, names))


def _difference(what: str, expected: pa.Table, missing: list[Any], surplus: list[Any]) -> str:
    names = expected.column_names
    lines = [f"{what}: {len(missing)} rows missing, {len(surplus)} rows too many"]
    if len(missing) == len(surplus):
        for want, got in zip(_ordered(missing), _ordered(surplus), strict=True):
            cells = [
                f"{name}: expected {a!r}, got {b!r}"
                for name, a, b in zip(names, want, got, strict=True)
                if a != b
            ]
            lines.append(f"  row {names[0]}={want[0]!r}: {'; '.join(cells)}")
        return "\n".join(lines[: SHOWN + 1])
    for label, rows in (("missing", missing), ("too many", surplus)):
        shown = [dict(zip(names, row, strict=True)) for row in _ordered(rows)[:SHOWN]]
        lines.extend(f"  {label}: {row}" for row in shown)
    return "\n".join(lines)


def _ordered(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=repr)
