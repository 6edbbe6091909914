"""Column names that tables can't use, because they are row lineage columns in format version 3.

The specification reserves only the field ids. A table of another library that has such a column
already stays readable.
"""

from __future__ import annotations

from collections.abc import Iterator

from iceberg_spark.errors import InvalidSchemaError, ValidationException
from iceberg_spark.spec.reserved import LINEAGE_NAMES
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField


def check_new_names(before: Schema | None, after: Schema) -> None:
    """Refuse new columns with a name of row lineage. Raises InvalidSchemaError."""
    former_names = (
        set() if before is None else {(field.field_id, field.name) for field in before.fields}
    )
    for field in _taken(after):
        if (field.field_id, field.name) not in former_names:
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
