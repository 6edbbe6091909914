"""Columns that messages of change feeds have and a schema lacks, added by the messages' types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pyarrow as pa

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField
from iceberg_spark.write.cdc_envelopes import Unwrapping, changes_in
from iceberg_spark.write.cdc_schema import ColumnTypes


def new_fields(how: Unwrapping, batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Yield the Connect field of each column that messages have and the schema lacks, as JSON.

    Each field is yielded once, without a type if the message has no schema. Rows that are deleted
    and definitions add no columns. Raises InvalidInputError for a message that can't be read.
    """
    names = {_key(how, field.name) for field in how.schema.fields}
    seen: set[str] = set()
    for batch in batches:
        for change in changes_in(how, batch):
            if change.op in ("d", "t"):
                continue
            declared = {str(part.get("field")): part for part in change.fields}
            for name in change.values:
                if name.startswith("__") or _key(how, name) in names:
                    continue
                text = json.dumps(declared.get(name, {"field": name}), sort_keys=True)
                if text not in seen:
                    seen.add(text)
                    yield text


def with_new_columns(how: Unwrapping, fields: Iterable[str]) -> Schema:
    """Return the schema with the columns of `new_fields` at its end, all of them optional.

    Raises InvalidInputError for a column whose messages do not name its type: a value alone never
    decides a column's type.
    """
    types = ColumnTypes(first_id=how.schema.highest_field_id + 1)
    spelling: dict[str, str] = {}
    for text in fields:
        field = json.loads(text)
        if "type" not in field:
            raise InvalidInputError(
                f"Column '{field['field']}' is not in the schema, and its message does not name "
                "its type (value.converter.schemas.enable=false): give the column a type in schema="
            )
        name = spelling.setdefault(_key(how, field["field"]), field["field"])
        types.add({name: None}, [{**field, "field": name}])
    added: tuple[NestedField, ...] = types.schema().fields
    return Schema(*how.schema.fields, *added)


def _key(how: Unwrapping, name: str) -> str:
    return name.lower() if how.ignores_case else name
