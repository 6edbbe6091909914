"""Reserved field ids and names: metadata columns, row lineage, columns of delete files.

Source: specification, "Reserved Field IDs".
"""

from __future__ import annotations

from collections.abc import Iterator

from iceberg_spark.errors import InvalidSchemaError, ValidationException
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BooleanType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
)

FILE_ID = 2_147_483_646
POS_ID = 2_147_483_645
DELETED_ID = 2_147_483_644
SPEC_ID_ID = 2_147_483_643
PARTITION_ID = 2_147_483_642
DELETE_FILE_PATH_ID = 2_147_483_546
DELETE_FILE_POS_ID = 2_147_483_545
DELETE_FILE_ROW_ID = 2_147_483_544
CHANGE_TYPE_ID = 2_147_483_543
CHANGE_ORDINAL_ID = 2_147_483_542
COMMIT_SNAPSHOT_ID_ID = 2_147_483_541
ROW_ID_ID = 2_147_483_540
LAST_UPDATED_SEQUENCE_NUMBER_ID = 2_147_483_539

FILE = NestedField(FILE_ID, "_file", StringType(), True)
POS = NestedField(POS_ID, "_pos", LongType(), True)
DELETED = NestedField(DELETED_ID, "_deleted", BooleanType(), True)
SPEC_ID = NestedField(SPEC_ID_ID, "_spec_id", IntegerType(), True)
DELETE_FILE_PATH = NestedField(DELETE_FILE_PATH_ID, "file_path", StringType(), True)
DELETE_FILE_POS = NestedField(DELETE_FILE_POS_ID, "pos", LongType(), True)
CHANGE_TYPE = NestedField(
    CHANGE_TYPE_ID, "_change_type", StringType(), True, "Record type in changelog"
)
CHANGE_ORDINAL = NestedField(
    CHANGE_ORDINAL_ID, "_change_ordinal", IntegerType(), True, "Change ordinal in changelog"
)
COMMIT_SNAPSHOT_ID = NestedField(
    COMMIT_SNAPSHOT_ID_ID, "_commit_snapshot_id", LongType(), True, "Commit snapshot ID"
)
ROW_ID = NestedField(ROW_ID_ID, "_row_id", LongType())
LAST_UPDATED_SEQUENCE_NUMBER = NestedField(
    LAST_UPDATED_SEQUENCE_NUMBER_ID, "_last_updated_sequence_number", LongType()
)

LINEAGE = (ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)
"""Row lineage columns of format version 3, independent of the file; files may store both."""
LINEAGE_IDS = frozenset(field.field_id for field in LINEAGE)
LINEAGE_NAMES = tuple(field.name for field in LINEAGE)
METADATA_COLUMN_NAMES = ("_file", "_pos", "_deleted", "_spec_id", "_partition", *LINEAGE_NAMES)
"""The metadata columns that a scan can return."""


def partition_field(kind: StructType) -> NestedField:
    """Return `_partition`; its type is the union of all specs (`union_partition_type`)."""
    return NestedField(PARTITION_ID, "_partition", kind)


def delete_row_field(kind: StructType) -> NestedField:
    """Return `row`, the deleted row that old position delete files may carry."""
    return NestedField(DELETE_FILE_ROW_ID, "row", kind)


def metadata_columns(partition: StructType) -> dict[str, NestedField]:
    """Return the metadata columns that a scan can return, by name."""
    columns = (FILE, POS, DELETED, SPEC_ID, partition_field(partition), *LINEAGE)
    return {column.name: column for column in columns}


# Column names that tables can't use, because they are row lineage columns in format version 3.
#
# The specification reserves only the field ids. A table of another library that has such a column
# already stays readable.


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
