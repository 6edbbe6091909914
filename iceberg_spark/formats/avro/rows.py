"""Avro files read record by record with fastavro: the reference for `avro.columns`.

It reads what the column reader can't: enums, lists of nulls, records without fields.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Collection, Iterator, Sequence
from decimal import Context, Decimal
from typing import Any, TypeAlias

import fastavro
import pyarrow as pa

from iceberg_spark.arrow.arrays import batch_of
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.avro.arrow_types import arrow_field, arrow_type
from iceberg_spark.formats.avro.container import (
    AvroContainer,
    decompressed,
    parse_container,
    uncompressed_file,
)
from iceberg_spark.formats.avro.counts import check_counts
from iceberg_spark.formats.avro.types import AvroField, AvroType, inline_records, parse_record
from iceberg_spark.formats.limits import READING
from iceberg_spark.io.decoding import MALFORMED

Table: TypeAlias = Any  # pyarrow ships no types

_WIDE = Context(prec=76)  # scaling must not round


def read_avro_rows(
    data: bytes,
    *,
    location: str = "<bytes>",
    columns: Collection[int] | None = None,
    inline: Collection[int] = (),
) -> Table:
    """Return the same table as `avro.columns.read_avro_columns`, decoded row by row."""
    container = parse_container(data, location)
    fields = inline_records(parse_record(container.schema, location), inline)
    selected = [field for field in fields if columns is None or field.field_id in columns]
    metadata = {k: v for k, v in container.metadata.items() if not k.startswith("avro.")}
    schema = pa.schema([arrow_field(field) for field in selected], metadata)
    batches: list[Any] = []
    for rows, block in decompressed(container):
        check_counts(fields, rows, block, container)
        batches += row_batches(container, rows, block, selected)
    return pa.Table.from_batches(batches, schema=schema)


def row_batches(
    container: AvroContainer, count: int, records: Any, selected: Sequence[AvroField]
) -> Iterator[Any]:
    """Yield those fields of decompressed records. Raises CorruptFileError for malformed ones."""
    schema = pa.schema([arrow_field(field) for field in selected])
    file = io.BytesIO(uncompressed_file(_without_logical(container.schema), count, records))
    try:
        records_read = iter(fastavro.reader(file))
        while rows := list(itertools.islice(records_read, READING.avro_rows)):
            columns = [_column(rows, field) for field in selected]
            yield batch_of(len(rows), columns, schema)
    except (*MALFORMED, fastavro.schema.SchemaParseException) as broken:
        raise CorruptFileError(
            f"{container.location} has malformed Avro records: {type(broken).__name__} {broken}"
        ) from broken


def _column(rows: list[Any], field: AvroField) -> Any:
    values = []
    for row in rows:  # the slow way by design, see the module's text
        value = row
        for name in field.path:
            value = value[name]
        values.append(_value(value, field.type))
    return pa.array(values, arrow_type(field.type))


def _value(value: Any, kind: AvroType) -> Any:
    if value is None:
        return None
    match kind.kind:
        case "record":
            return {child.name: _value(value[child.name], child.type) for child in kind.fields}
        case "array":
            return [_value(item, kind.fields[0].type) for item in value]
        case "map" if kind.logical == "map":
            names = [child.name for child in kind.fields]
            return [_pair(item[names[0]], item[names[1]], kind) for item in value]
        case "map":
            return [_pair(key, item, kind) for key, item in value.items()]
        case "fixed" | "bytes" if kind.logical == "decimal":
            unscaled = int.from_bytes(value, "big", signed=True)
            return Decimal(unscaled).scaleb(-kind.scale, _WIDE)
        case _:
            return value


def _pair(key: Any, value: Any, kind: AvroType) -> tuple[Any, Any]:
    return _value(key, kind.fields[0].type), _value(value, kind.fields[1].type)


def _without_logical(schema: Any) -> Any:
    """Drop the logical types: fastavro's dates end at year 9999, Iceberg's don't."""
    match schema:
        case list():
            return [_without_logical(branch) for branch in schema]
        case dict():
            members = {key: value for key, value in schema.items() if key != "logicalType"}
            for key in ("type", "items", "values"):
                if key in members:
                    members[key] = _without_logical(members[key])
            if "fields" in members:
                members["fields"] = [_without_logical(member) for member in members["fields"]]
            return members
        case _:
            return schema
