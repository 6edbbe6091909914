"""Names that columns of tables don't take, since rows of version 3 have them: `_row_id` and more.

The specification reserves the field ids only. A table that has such a column already, made by
another library, stays readable.
"""

from __future__ import annotations

from collections.abc import Iterator

from iceberg_spark.errors import InvalidSchemaError, ValidationException
from iceberg_spark.spec.reserved import LINEAGE_NAMES
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField


def check_new_names(before: Schema | None, after: Schema) -> None:
    """Refuse a column that gets a name of row lineage (InvalidSchemaError); one may keep it."""
    known = set() if before is None else {(one.field_id, one.name) for one in before.fields}
    for field in _taken(after):
        if (field.field_id, field.name) not in known:
            raise InvalidSchemaError(
                f"A column can't be named '{field.name}': rows of format version 3 have a metadata "
                "column of that name; choose another name"
            )


def check_upgrade(schema: Schema) -> None:
    """Refuse an upgrade after which a column would hide a metadata column (ValidationException)."""
    for field in _taken(schema):
        raise ValidationException(
            f"The table can't be upgraded while its column '{field.name}' has the name of a "
            "metadata column of format version 3: rename it first, as by "
            f"t.update_schema().rename_column('{field.name}', 'own{field.name}')"
        )


def _taken(schema: Schema) -> Iterator[NestedField]:
    return (field for field in schema.fields if field.name.lower() in LINEAGE_NAMES)
