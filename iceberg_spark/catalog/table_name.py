"""Table names and storage properties as plain texts, and the error of a missing table."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.errors import IcebergError, InvalidInputError, InvalidTypeError, NoSuchTableError
from iceberg_spark.spec.nearest import did_you_mean

TableName: TypeAlias = str | os.PathLike[str] | tuple[str, ...]

_CUT_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):/(?=[^/])")


def table_name(name: object) -> str:
    """Return the text of a location or identifier: a text, a Path, or an identifier's tuple.

    `~/` is the user's home.

    Raises:
        InvalidTypeError: the name has another type.
        InvalidInputError: the name is empty, or a Path of a store (a Path drops a slash of
            `s3://`).
    """
    match name:
        case str():
            text = name.strip()
        case os.PathLike():
            text = os.fsdecode(name)
            cut = _CUT_SCHEME.match(text)
            if cut is not None and cut.group(1).lower() != "file":
                raise InvalidInputError(
                    f"'{text}' came as a Path, which drops a slash of '{cut.group(1)}://': give "
                    "locations of a store as text"
                )
        case (str() as text,):
            pass
        case tuple() if name and all(isinstance(part, str) for part in name):
            text = joined_name(name)
        case _:
            raise InvalidTypeError(
                "A table is named by text or a Path, a location or an identifier, not by "
                f"{type(name).__name__}"
            )
    if not text:
        raise InvalidInputError("The table's name or location is empty")
    return os.path.expanduser(text) if text == "~" or text.startswith("~/") else text


def joined_name(parts: Sequence[str]) -> str:
    """Return the name of a table or view from its parts.

    Raises InvalidInputError for a part that is empty or has a dot or a slash: the text would be
    another name, or a location.
    """
    for part in parts:
        if not part:
            raise InvalidInputError(f"The name {'.'.join(parts)} has an empty part")
        if "/" in part:
            raise InvalidInputError(
                f"'{part}' is one part of a name and has a slash: the text of the whole name would "
                "be a location"
            )
    return ".".join(map(check_part, parts))


def check_part(part: str) -> str:
    """Return a part of a name. Raises InvalidInputError if it has a dot."""
    if "." in part:
        raise InvalidInputError(
            f"'{part}' is one part of a name and has a dot: names are joined by dots here, so it "
            "would be taken for another name"
        )
    return part


def property_texts(properties: Mapping[str, object]) -> dict[str, str]:
    """Return properties as texts, as in configuration files: 5 as "5", True as "true".

    Raises InvalidTypeError for anything but a mapping, or a value without such a text.
    """
    if not isinstance(properties, Mapping):
        raise InvalidTypeError(
            f"Properties must be a dict of texts, not {type(properties).__name__}"
        )
    return {str(name): _text(str(name), value) for name, value in properties.items()}


def _text(name: str, value: object) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case os.PathLike():
            return os.fsdecode(value)
        case _:
            raise InvalidTypeError(f"Property '{name}' must be text, not {type(value).__name__}")


def has_two_parts(identifier: str) -> bool:
    """Return whether a name is namespace.table, the only form that some catalogs have.

    Spark asks them for `db.t.snapshots` too, which they do not have.
    """
    namespace, _, name = identifier.rpartition(".")
    return bool(namespace and name) and "." not in namespace


def missing_table(catalog: Catalog, identifier: str, error: Exception) -> NoSuchTableError:
    """Return the error for a table, from the error of loading it.

    Examples:
        >>> missing_table(catalog, "db.ordrs", error)
        NoSuchTableError("No table db.ordrs in catalog 'prod'; did you mean 'orders'?")
    """
    if "/" in identifier:
        return NoSuchTableError(str(error))
    text = str(error)
    if identifier not in text:
        text = f"No table {identifier} in catalog '{catalog.name}': {text}"
    return NoSuchTableError(f"{text}{_near_name(catalog, identifier)}")


def _near_name(catalog: Catalog, identifier: str) -> str:
    *namespace, name = identifier.split(".")
    try:
        listed = catalog.namespaces
        tables = [] if listed is None else listed.list_tables(tuple(namespace))
    except IcebergError:
        return ""
    return did_you_mean(name, (table[-1] for table in tables))
