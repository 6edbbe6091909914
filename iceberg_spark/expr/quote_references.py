"""Quote the columns of a predicate, so that any name can be written as SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from iceberg_spark.expr.nodes import And, Constant, Not, Or, Reference, Unbound
from iceberg_spark.spec.schema import Schema


def quote_references(node: Unbound, schema: Schema, *, case_sensitive: bool = True) -> Unbound:
    """Return a predicate whose columns are quoted part by part.

    Only the schema shows whether `a.b` is a column or a field of a struct. Unknown names are
    unchanged.
    """
    match node:
        case Constant():
            return node
        case And(children=children) | Or(children=children):
            below = (
                quote_references(child, schema, case_sensitive=case_sensitive) for child in children
            )
            return type(node)(tuple(below))
        case Not(child=child):
            return Not(quote_references(child, schema, case_sensitive=case_sensitive))
        case leaf:
            return replace(leaf, term=_named(leaf.term, schema, case_sensitive))


def _named(term: Any, schema: Schema, case_sensitive: bool) -> Any:
    if not isinstance(term, Reference):
        return term
    field_id = schema.find_id(term.name, case_sensitive)
    if field_id is None:
        return term
    steps = [schema.find_field(step_id).name for step_id in schema.path_ids(field_id)]
    if all(step.isidentifier() for step in steps):
        return term
    return Reference(".".join("`" + step.replace("`", "``") + "`" for step in steps))
