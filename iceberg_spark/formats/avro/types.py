"""The writer's schema of an Avro file as a tree of values, names resolved.

Avro's encoding has no trace of a record's boundaries: a required record inside another is read
as if its fields stood in the outer one (`inline_records`), which lets a column reader skip
fields of the inner record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.io.limits import DEFAULT_LIMITS, MAX_AVRO_TYPES, Limits
from iceberg_spark.spec.json_node import MAX_NESTING

Parsed = TypeVar("Parsed")
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "string", "bytes")
_LEAST = {"null": 0, "float": 4, "double": 8}
_LARGEST_SIZE = (1 << 31) - 1
_MOST_DIGITS = 38
_MOST_LEVELS = 3 * MAX_NESTING  # an optional record in a union is three of them


@dataclass(frozen=True, slots=True)
class AvroType:
    """One Avro type; `optional` stands for a union with null, its first branch or its last.

    `kind` is Avro's name of the type, "map" for both forms of a map. `fields` are a record's
    fields, an array's one element, a map's key and value. `size` is a fixed's length in bytes.
    """

    kind: str
    optional: bool = False
    null_last: bool = False
    logical: str | None = None
    size: int = 0
    precision: int = 0
    scale: int = 0
    utc: bool = False
    fields: tuple[AvroField, ...] = ()


@dataclass(frozen=True, slots=True)
class AvroField:
    """A field of a record, an element, a key or a value; `path` leads to it from the top.

    `iceberg_name` is set where Avro did not allow the column's name.
    """

    name: str
    type: AvroType
    field_id: int | None = None
    path: tuple[str, ...] = ()
    iceberg_name: str | None = None

    @property
    def label(self) -> str:
        """The column's name in the table."""
        return self.iceberg_name or self.name


@dataclass(slots=True)
class _Names:
    """Named types by full name: those parsed, and those being parsed (to detect recursion).

    `left` is the number of types still allowed, `depth` the current nesting, `space` the namespace
    of names without one. Source: Avro specification, "Names".
    """

    location: str
    left: int
    depth: int = 0
    space: str = ""
    by_name: dict[str, tuple[Any, str]] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)


def parse_record(
    schema: Any, location: str, limits: Limits = DEFAULT_LIMITS
) -> tuple[AvroField, ...]:
    """Return the top-level fields of an Avro schema in JSON.

    Raises CorruptFileError if it is not a valid record schema, or has more types than the
    limits allow; UnsupportedError for a union of several types or a recursive type, which
    Iceberg files never have.
    """
    try:
        top = _parse(schema, _Names(location, limits.avro_types))
    except (
        KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
    ) as broken:  # fmt: skip
        raise CorruptFileError(f"{location} has a malformed Avro schema: {broken!r}") from broken
    if top.kind != "record":
        raise CorruptFileError(f"{location} holds no Avro records but '{top.kind}'")
    return tuple(replace(field, path=(field.name,)) for field in top.fields)


def inline_records(
    fields: tuple[AvroField, ...], field_ids: Collection[int]
) -> tuple[AvroField, ...]:
    """Replace the required records with these ids by their fields, with dotted names."""
    out: list[AvroField] = []
    for member in fields:
        if (
            member.field_id in field_ids
            and member.type.kind == "record"
            and not member.type.optional
        ):
            inner = tuple(
                replace(child, name=f"{member.name}.{child.name}", path=(*member.path, child.name))
                for child in member.type.fields
            )
            out.extend(inline_records(inner, field_ids))
        else:
            out.append(member)
    return tuple(out)


def least_bytes(kind: AvroType) -> int:
    """Return the minimum size of a value of the type in bytes."""
    if kind.optional:
        return 1
    match kind.kind:
        case "null":
            return 0
        case "fixed":
            return kind.size
        case "record":
            return sum(least_bytes(child.type) for child in kind.fields)
        case name:
            return _LEAST.get(name, 1)


def _parse(schema: Any, names: _Names) -> AvroType:
    names.left -= 1
    if names.left < 0:
        raise CorruptFileError(
            f"{names.location} has an Avro schema of too many types, repeated ones counted each "
            f"time; if that is as it should be, set the storage property {MAX_AVRO_TYPES} to more"
        )
    names.depth += 1
    if names.depth > _MOST_LEVELS:
        raise CorruptFileError(
            f"{names.location} has an Avro schema that nests deeper than {MAX_NESTING} levels"
        )
    parsed = _parse_kind(schema, names)
    names.depth -= 1
    return parsed


def _parse_kind(schema: Any, names: _Names) -> AvroType:
    match schema:
        case str():
            return AvroType(schema) if schema in PRIMITIVES else _parse_name(schema, names)
        case list():
            return _parse_union(schema, names)
        case {"type": "record" | "error"}:
            return _parse_record(schema, names)
        case {"type": "array"}:
            return _parse_array(schema, names)
        case {"type": "map"}:
            key = AvroField("key", AvroType("string"), _id(schema, "key-id"))
            value = AvroField("value", _parse(schema["values"], names), _id(schema, "value-id"))
            return AvroType("map", fields=(key, value))
        case {"type": "fixed"}:
            _remember(schema, names)
            size = _integer(schema["size"], "size", 1, _LARGEST_SIZE)
            return _with_logical(schema, AvroType("fixed", size=size))
        case {"type": "enum"}:
            _remember(schema, names)
            return AvroType("enum")
        case {"type": inner}:
            return _with_logical(schema, _parse(inner, names))
        case _:
            raise ValueError(schema)


def _parse_name(name: str, names: _Names) -> AvroType:
    full = _full_name(name, names.space)
    if full not in names.by_name:
        full = name
    if full in names.open:
        raise UnsupportedError(f"{names.location} has a recursive Avro type '{name}'")
    schema, space = names.by_name[full]
    return _within(space, names, lambda: _parse(schema, names))


def _within(space: str, names: _Names, parse: Callable[[], Parsed]) -> Parsed:
    outer, names.space = names.space, space
    parsed = parse()
    names.space = outer
    return parsed


def _full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _parse_union(branches: list[Any], names: _Names) -> AvroType:
    values = [branch for branch in branches if branch != "null"]
    if len(values) > 1:
        raise UnsupportedError(
            f"{names.location} has an Avro union of {len(values)} types besides null; "
            "Iceberg files have unions of one type and null only"
        )
    if not values:
        return AvroType("null", optional=True)
    optional = len(branches) > 1
    null_last = optional and branches[0] != "null"
    return replace(_parse(values[0], names), optional=optional, null_last=null_last)


def _parse_record(schema: Mapping[str, Any], names: _Names) -> AvroType:
    full = _remember(schema, names)
    names.open.add(full)
    fields = _within(full.rpartition(".")[0], names, lambda: _fields(schema["fields"], names))
    twice = [name for name, times in Counter(field.name for field in fields).items() if times > 1]
    if twice:
        raise ValueError(f"two fields have the name '{twice[0]}'")
    names.open.discard(full)
    return AvroType("record", logical=schema.get("logicalType"), fields=fields)


def _fields(nodes: Any, names: _Names) -> tuple[AvroField, ...]:
    return tuple(
        AvroField(
            _text(node["name"]),
            _parse(node["type"], names),
            _id(node, "field-id"),
            iceberg_name=None
            if (label := node.get("iceberg-field-name")) is None
            else _text(label),
        )
        for node in nodes
    )


def _parse_array(schema: Mapping[str, Any], names: _Names) -> AvroType:
    item = _parse(schema["items"], names)
    if schema.get("logicalType") == "map" and item.kind == "record" and len(item.fields) == 2:
        return AvroType("map", logical="map", fields=item.fields)
    element = AvroField("element", item, _id(schema, "element-id"))
    return AvroType("array", fields=(element,))


def _with_logical(schema: Mapping[str, Any], plain: AvroType) -> AvroType:
    logical = schema.get("logicalType")
    if not isinstance(logical, str | None):
        raise TypeError(f"logicalType {logical!r}")
    if logical == "decimal":
        precision = _integer(schema.get("precision"), "precision", 1, _MOST_DIGITS)
        scale = _integer(schema.get("scale", 0), "scale", 0, precision)
        return replace(plain, logical=logical, precision=precision, scale=scale)
    return replace(plain, logical=logical, utc=bool(schema.get("adjust-to-utc", False)))


def _id(node: Mapping[str, Any], key: str) -> int | None:
    value = node.get(key)
    return None if value is None else _integer(value, key, -_LARGEST_SIZE - 1, _LARGEST_SIZE)


def _integer(value: Any, what: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{what} is {value!r}")
    return value


def _text(value: Any) -> str:
    text = str(value)
    text.encode()  # half a surrogate is no name
    return text


def _remember(schema: Mapping[str, Any], names: _Names) -> str:
    """Keep a type by its full name, which is returned, with the namespace around it."""
    space = schema.get("namespace")
    full = _full_name(str(schema.get("name", "")), names.space if space is None else str(space))
    names.by_name[full] = (schema, names.space)
    return full
