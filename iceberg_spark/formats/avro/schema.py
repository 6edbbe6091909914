"""Iceberg types as Avro schemas in JSON and back (specification: "Avro").

Names are Java's: records `r<field id>`, entries of maps `k<id>_v<id>`, `decimal_<p>_<s>`,
`uuid_fixed`, `fixed_<length>`.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.avro.types import AvroField, AvroType
from iceberg_spark.spec import types as t

_PLAIN: dict[type, Any] = {
    t.BooleanType: "boolean",
    t.IntegerType: "int",
    t.LongType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.StringType: "string",
    t.BinaryType: "bytes",
    t.GeometryType: "bytes",
    t.GeographyType: "bytes",
    t.UnknownType: "null",
    t.DateType: {"type": "int", "logicalType": "date"},
    t.TimeType: {"type": "long", "logicalType": "time-micros"},
    t.TimestampType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    t.TimestamptzType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    t.TimestampNanoType: {
        "type": "long",
        "logicalType": "timestamp-nanos",
        "adjust-to-utc": False,
    },
    t.TimestamptzNanoType: {
        "type": "long",
        "logicalType": "timestamp-nanos",
        "adjust-to-utc": True,
    },
}
_ICEBERG: dict[tuple[str, str | None], t.IcebergType] = {
    ("null", None): t.UnknownType(),
    ("boolean", None): t.BooleanType(),
    ("int", None): t.IntegerType(),
    ("long", None): t.LongType(),
    ("float", None): t.FloatType(),
    ("double", None): t.DoubleType(),
    ("string", None): t.StringType(),
    ("enum", None): t.StringType(),
    ("bytes", None): t.BinaryType(),
    ("int", "date"): t.DateType(),
    ("long", "time-micros"): t.TimeType(),
}


def avro_record(struct: t.StructType, name: str) -> dict[str, Any]:
    """Return the Avro schema of rows of a struct, as JSON objects."""
    return _record(struct, name, set())


def compatible_name(name: str) -> str:
    """Return a name that Avro allows: other characters become `_x<hexadecimal>`.

    A leading digit gets an underscore before it. Source: Java's AvroSchemaUtil, which also keeps
    non-ASCII letters: Avro's specification does not, and strict readers (avro-c in DuckDB,
    iceberg-rust) refuse such a file.
    """
    return "".join(_compatible(letter, index == 0) for index, letter in enumerate(name))


def iceberg_struct(fields: Sequence[AvroField], location: str) -> t.StructType:
    """Return the struct type of an Avro file's fields.

    Raises CorruptFileError, naming `location`, for a field without an id.
    """
    return t.StructType(*(_nested(field, location) for field in fields))


def decimal_bytes(precision: int) -> int:
    """Return the number of bytes for every unscaled value of that many digits."""
    highest: int = 10**precision - 1
    return (highest.bit_length() + 8) // 8


def _record(struct: t.StructType, name: str, taken: set[str]) -> dict[str, Any]:
    fields = [
        _field(field, avro_name, taken)
        for field, avro_name in zip(struct.fields, _field_names(struct), strict=True)
    ]
    return {"type": "record", "name": name, "fields": fields}


def _field_names(struct: t.StructType) -> list[str]:
    """Return the Avro names of a record's fields, each once.

    `Ü` and `_xDC` have one name in Avro: the one that is escaped gets its field id as well.
    """
    names = [compatible_name(field.name) for field in struct.fields]
    counts = Counter(names)
    return [
        name if counts[name] == 1 or name == field.name else f"{name}_{field.field_id}"
        for name, field in zip(names, struct.fields, strict=True)
    ]


def _field(field: t.NestedField, name: str, taken: set[str]) -> dict[str, Any]:
    out: dict[str, Any] = {"name": name}
    out["type"] = _of(field, taken)
    if field.doc is not None:
        out["doc"] = field.doc
    if field.optional:
        out["default"] = None
    if out["name"] != field.name:
        out["iceberg-field-name"] = field.name
    out["field-id"] = field.field_id
    return out


def _of(field: t.NestedField, taken: set[str]) -> Any:
    """Return a field's Avro type, a union with null for an optional one."""
    plain = _type(field, taken)
    return plain if field.required or plain == "null" else ["null", plain]


def _type(field: t.NestedField, taken: set[str]) -> Any:
    kind = field.field_type
    match kind:
        case t.StructType():
            return _record(kind, _free(f"r{field.field_id}", field, taken), taken)
        case t.ListType():
            items = _of(kind.element_field, taken)
            return {"type": "array", "items": items, "element-id": kind.element_id}
        case t.MapType():
            return _map(kind, field, taken)
        case t.DecimalType(precision=precision, scale=scale):
            name = _free(f"decimal_{precision}_{scale}", field, taken)
            size = decimal_bytes(precision)
            fixed = {"type": "fixed", "name": name, "size": size, "logicalType": "decimal"}
            return fixed | {"precision": precision, "scale": scale}
        case t.UUIDType():
            name = _free("uuid_fixed", field, taken)
            return {"type": "fixed", "name": name, "size": 16, "logicalType": "uuid"}
        case t.FixedType(length=length):
            name = _free(f"fixed_{length}", field, taken)
            return {"type": "fixed", "name": name, "size": length}
        case t.VariantType():
            name = _free(f"r{field.field_id}", field, taken)
            parts = [{"name": part, "type": "bytes"} for part in ("metadata", "value")]
            return {"type": "record", "name": name, "logicalType": "variant", "fields": parts}
        case _:
            return _PLAIN[type(kind)]


def _map(kind: t.MapType, field: t.NestedField, taken: set[str]) -> Any:
    values = _of(kind.value_field, taken)
    if isinstance(kind.key_type, t.StringType):
        ids = {"key-id": kind.key_id, "value-id": kind.value_id}
        return {"type": "map", "values": values} | ids
    name = _free(f"k{kind.key_id}_v{kind.value_id}", field, taken)
    pair = [
        {"name": "key", "type": _of(kind.key_field, taken), "field-id": kind.key_id},
        {"name": "value", "type": values, "field-id": kind.value_id},
    ]
    if not kind.value_required:
        pair[1]["default"] = None
    items = {"type": "record", "name": name, "fields": pair}
    return {"type": "array", "items": items, "logicalType": "map"}


def _free(name: str, field: t.NestedField, taken: set[str]) -> str:
    """Return an unused name for a type.

    Java repeats a type by its name alone, which PyIceberg can't read; no reader compares names.
    """
    free = name if name not in taken else f"{name}_{field.field_id}"
    taken.add(free)
    return free


def _compatible(letter: str, first: bool) -> str:
    is_digit = letter in string.digits
    if letter == "_" or letter in string.ascii_letters or (is_digit and not first):
        return letter
    if is_digit:
        return f"_{letter}"
    return "".join(f"_x{unit:X}" for unit in _utf16(letter))


def _utf16(letter: str) -> tuple[int, ...]:
    """Return the UTF-16 units of a character: Java escapes each of them."""
    data = letter.encode("utf-16-be", "surrogatepass")
    return tuple(
        int.from_bytes(data[offset : offset + 2], "big") for offset in range(0, len(data), 2)
    )


def _nested(field: AvroField, location: str) -> t.NestedField:
    if field.field_id is None:
        raise CorruptFileError(f"{location} has an Avro field '{field.name}' without a field id")
    required = not field.type.optional and field.type.kind != "null"
    return t.NestedField(field.field_id, field.label, _iceberg(field.type, location), required)


def _iceberg(kind: AvroType, location: str) -> t.IcebergType:
    match kind.kind:
        case "record":
            return iceberg_struct(kind.fields, location)
        case "array":
            element = _nested(kind.fields[0], location)
            return t.ListType(element.field_id, element.field_type, element.required)
        case "map":
            key, value = (_nested(child, location) for child in kind.fields)
            return t.MapType(
                key.field_id, key.field_type, value.field_id, value.field_type, value.required
            )
        case "fixed" | "bytes" if kind.logical == "decimal":
            return t.DecimalType(kind.precision, kind.scale)
        case "fixed":
            return t.UUIDType() if kind.logical == "uuid" else t.FixedType(kind.size)
        case "long" if kind.logical == "timestamp-micros":
            return t.TimestamptzType() if kind.utc else t.TimestampType()
        case "long" if kind.logical == "timestamp-nanos":
            return t.TimestamptzNanoType() if kind.utc else t.TimestampNanoType()
        case name:
            return _ICEBERG.get((name, kind.logical)) or _ICEBERG[name, None]
