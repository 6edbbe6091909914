"""PySpark's pushed filter classes as predicate trees."""

from __future__ import annotations

from pyspark.sql import datasource as ds

from iceberg_spark.expr import nodes as n

_COMPARISONS: dict[type[ds.Filter], n.Op] = {
    ds.EqualTo: n.Op.EQ,
    ds.GreaterThan: n.Op.GT,
    ds.GreaterThanOrEqual: n.Op.GE,
    ds.LessThan: n.Op.LT,
    ds.LessThanOrEqual: n.Op.LE,
}


def to_predicate(pushed: ds.Filter) -> n.Unbound | None:
    """Return the predicate of a pushed filter, None for one that can't prune (Spark keeps it)."""
    match pushed:
        case ds.Not(child=child):
            inner = to_predicate(child)
            return None if inner is None else n.Not(inner)
        case ds.IsNull():
            return n.IsNull(_reference(pushed.attribute))
        case ds.IsNotNull():
            return n.IsNull(_reference(pushed.attribute), negated=True)
        case ds.In():
            return n.In(_reference(pushed.attribute), tuple(pushed.value))
        case ds.StringStartsWith():
            return n.StartsWith(_reference(pushed.attribute), pushed.value)
        case ds.EqualNullSafe(attribute=attribute, value=None):
            return n.IsNull(_reference(attribute))
        case ds.EqualNullSafe(attribute=attribute, value=value):
            return n.And(
                (
                    n.IsNull(_reference(attribute), negated=True),
                    n.Comparison(n.Op.EQ, _reference(attribute), value),
                )
            )
        case _ if type(pushed) in _COMPARISONS:
            return _comparison(_COMPARISONS[type(pushed)], pushed)
        case _:
            return None


def _comparison(op: n.Op, pushed: ds.Filter) -> n.Comparison:
    attribute: ds.ColumnPath = pushed.attribute  # type: ignore[attr-defined]
    return n.Comparison(op, _reference(attribute), pushed.value)  # type: ignore[attr-defined]


def _reference(path: ds.ColumnPath) -> n.Reference:
    return n.Reference(".".join(path))
