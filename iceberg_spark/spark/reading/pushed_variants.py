"""Fields of variants in filters that Spark's optimizer pushed down to a relation.

They are calls of `variant_get`, casts of these (as in `v:a::int`), or, if Spark reads such fields
instead of the variants, fields of a struct whose metadata has the path.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from iceberg_spark.expr.variant_filter import keys_of_extraction, type_of_extraction
from iceberg_spark.spark.catalyst.file_pruning import Expression
from iceberg_spark.spec.types import IcebergType

_VARIANT = "variant"
_PATH_OF = "__VARIANT_METADATA_KEY"


class PushedVariant(NamedTuple):
    """A field of a variant: the column's expression, the keys, and the type it is cast to."""

    column: Expression
    keys: tuple[str, ...]
    kind: IcebergType


def pushed_variant(of: Expression) -> PushedVariant | None:
    """Return the field of a variant that an expression extracts, None for other expressions."""
    if of.kind == "Cast":
        (inner,) = of.parts
        extraction = _extraction(inner) or (inner, "$", _VARIANT)
        column, path, cast_from = extraction
        name = of.node["type"] if cast_from == _VARIANT else None
    else:
        extracted = _extraction(of)
        if extracted is None:
            return None
        column, path, name = extracted
    keys = keys_of_extraction(path)
    kind = type_of_extraction(name) if isinstance(name, str) else None
    return None if keys is None or kind is None else PushedVariant(column, keys, kind)


def _extraction(of: Expression) -> tuple[Expression, str, Any] | None:
    """Return the column, path and type name of an expression that extracts a field of a variant."""
    match of.kind, of.parts:
        case "VariantGet", (column, path):
            is_text = path.kind == "Literal" and path.node["type"] == "string"
            text = path.node["value"] if is_text else None
            return None if text is None else (column, str(text), of.node["type"])
        case "GetStructField", (column,):
            field = struct_fields(column)[int(of.node["ordinal"])]
            path = field.get("metadata", {}).get(_PATH_OF, {}).get("path")
            return None if path is None else (column, str(path), field["type"])
        case _:
            return None


def struct_fields(of: Expression) -> list[dict[str, Any]]:
    """Return the fields of a struct in the plan, as Spark's JSON of types."""
    kind = of.node.get("type", "")
    return json.loads(kind)["fields"] if kind.startswith("{") else []
