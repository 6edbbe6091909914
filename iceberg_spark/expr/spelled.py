"""A predicate's names as SQL spells them, whatever they are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from iceberg_spark.expr.nodes import And, Constant, Not, Or, Reference, Unbound
from iceberg_spark.spec.schema import Schema


def spelled(node: Unbound, schema: Schema, *, case_sensitive: bool = True) -> Unbound:
    """Return a predicate whose columns are named part by part between backquotes.

    A name alone does not say whether `a.b` is a column or a field of a struct; the schema does.
    Names that it does not know stay as they are.
    """
    match node:
        case Constant():
            return node
        case And(children=children) | Or(children=children):
            below = (spelled(each, schema, case_sensitive=case_sensitive) for each in children)
            return type(node)(tuple(below))
        case Not(child=child):
            return Not(spelled(child, schema, case_sensitive=case_sensitive))
        case leaf:
            return replace(leaf, term=_named(leaf.term, schema, case_sensitive))


def _named(term: Any, schema: Schema, case_sensitive: bool) -> Any:
    if not isinstance(term, Reference):
        return term
    found = schema.find_id(term.name, case_sensitive)
    if found is None:
        return term
    steps = [schema.find_field(each).name for each in schema.path_ids(found)]
    if all(step.isidentifier() for step in steps):
        return term
    return Reference(".".join("`" + step.replace("`", "``") + "`" for step in steps))
