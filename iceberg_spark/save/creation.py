"""Options of a save that say how its table is made, on a table that is there already."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.save.write_options import WriteOptions
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import SortField
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_sort_order
from iceberg_spark.spec.transforms import IdentityTransform


def check_creation_options(options: WriteOptions, metadata: TableMetadata) -> None:
    """Refuse a layout other than the table's; equal ones are fine, for the next run of a job.

    Properties that differ are only told, as somebody may have changed the table's since. Raises
    InvalidOptionError naming the option and how the table is laid out.
    """
    _check_partitioning(options, metadata)
    _check_order(options, metadata)
    version = options.format_version
    if version is not None and version != metadata.format_version:
        raise InvalidOptionError(
            f"Option 'format-version' is {version}, and the table has {metadata.format_version}: "
            "leave it out, or upgrade by t.update_properties().set({'format-version': ...})"
        )
    properties = {name.lower(): value for name, value in metadata.properties.items()}
    for name, value in options.table_properties.items():
        current = properties.get(name.lower())  # Spark hands over names of options in lower case
        if current != value:
            has = "none" if current is None else f"'{current}'"
            warnings.warn(
                f"Option 'table-property.{name}' = '{value}' is for new tables; this table has "
                f"{has}, which t.update_properties().set(...) changes",
                stacklevel=2,
            )


def _check_partitioning(options: WriteOptions, metadata: TableMetadata) -> None:
    if not options.partition_by:
        return
    requested = parse_partition_spec(options.partition_by, metadata.schema, case_sensitive=False)
    current = metadata.spec.live_fields
    if [(f.source_ids, f.transform) for f in requested.fields] != [
        (f.source_ids, f.transform) for f in current
    ]:
        _refuse("partition-by", options.partition_by, _terms(current, metadata.schema), "spec")


def _check_order(options: WriteOptions, metadata: TableMetadata) -> None:
    if not options.sort_order:
        return
    requested = parse_sort_order(options.sort_order, metadata.schema, case_sensitive=False)
    current = metadata.sort_order
    if requested.fields != current.fields:
        shown = _terms(current.fields, metadata.schema)
        _refuse("sort-order", options.sort_order, shown, "sort_order")


def _refuse(option: str, requested: Sequence[str], current: str, builder: str) -> None:
    what = "partitioned by" if builder == "spec" else "sorted by"
    raise InvalidOptionError(
        f"Option '{option}' = '{', '.join(requested)}' is for new tables; this table is {what} "
        f"{current}: leave the option out to write to it as it is, or change that by "
        f"t.update_{builder}()"
    )


def _terms(fields: Sequence[PartitionField | SortField], schema: Schema) -> str:
    return ", ".join(_term(field, schema) for field in fields) or "nothing"


def _term(field: PartitionField | SortField, schema: Schema) -> str:
    column = str(schema.find_column_name(field.source_id))
    plain = isinstance(field.transform, IdentityTransform)
    term = column if plain else f"{field.transform}({column})"
    if isinstance(field, SortField):
        return f"{term} {field.direction} {str(field.null_order).replace('-', ' ')}"
    return term
