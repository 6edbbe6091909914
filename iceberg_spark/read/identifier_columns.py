"""Which columns rows are known by over their updates."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.schema import Schema


def identifiers(
    schema: Schema,
    columns: Sequence[str],
    compute_updates: bool | None,
    net_changes: bool,
    *,
    case_sensitive: bool,
) -> tuple[str, ...]:
    """Return the columns that tell updates, none where updates are not asked for.

    As in Java's `create_changelog_view`: given columns ask for updates, and `compute_updates`
    alone takes the identifier fields of the schema. Raises InvalidInputError.
    """
    if not (bool(columns) if compute_updates is None else compute_updates):
        return ()
    if net_changes:
        raise InvalidInputError("net_changes and updates (identifier_columns) exclude each other")
    chosen = (columns,) if isinstance(columns, str) else tuple(columns)
    if not chosen:
        ids = schema.identifier_field_ids
        chosen = tuple(schema.find_column_name(number) or "" for number in sorted(ids))
    if not chosen:
        raise InvalidInputError(
            "compute_updates needs identifier_columns: the schema has no identifier fields"
        )
    names = tuple(schema.find_field(name, case_sensitive).name for name in chosen)
    top = {field.name for field in schema.fields}
    for name in names:
        if name not in top:
            raise InvalidInputError(f"identifier_columns must be top-level columns, not '{name}'")
    return names
