"""PySpark's pushed filters become predicates; what can't prune is left to Spark."""

import pytest
from pyspark.sql import datasource as ds

from iceberg_spark.expr import nodes as n
from iceberg_spark.spark.datasource.reader import to_predicate

ID = ("s", "id")
REFERENCE = n.Reference("s.id")


@pytest.mark.parametrize(
    ("pushed", "predicate"),
    [
        (ds.EqualTo(ID, 1), n.Comparison(n.Op.EQ, REFERENCE, 1)),
        (ds.GreaterThan(ID, 1), n.Comparison(n.Op.GT, REFERENCE, 1)),
        (ds.GreaterThanOrEqual(ID, 1), n.Comparison(n.Op.GE, REFERENCE, 1)),
        (ds.LessThan(ID, 1), n.Comparison(n.Op.LT, REFERENCE, 1)),
        (ds.LessThanOrEqual(ID, 1), n.Comparison(n.Op.LE, REFERENCE, 1)),
        (ds.In(ID, (1, 2)), n.In(REFERENCE, (1, 2))),
        (ds.IsNull(ID), n.IsNull(REFERENCE)),
        (ds.IsNotNull(ID), n.IsNull(REFERENCE, negated=True)),
        (ds.StringStartsWith(ID, "a"), n.StartsWith(REFERENCE, "a")),
        (ds.Not(ds.IsNull(ID)), n.Not(n.IsNull(REFERENCE))),
        (ds.EqualNullSafe(ID, None), n.IsNull(REFERENCE)),
        (
            ds.EqualNullSafe(ID, 1),
            n.And((n.IsNull(REFERENCE, negated=True), n.Comparison(n.Op.EQ, REFERENCE, 1))),
        ),
    ],
)
def test_a_filter_that_prunes(pushed: ds.Filter, predicate: n.Unbound) -> None:
    assert to_predicate(pushed) == predicate


@pytest.mark.parametrize(
    "pushed",
    [
        ds.StringEndsWith(ID, "a"),
        ds.StringContains(ID, "a"),
        ds.Not(ds.StringContains(ID, "a")),
    ],
)
def test_a_filter_that_is_left_to_spark(pushed: ds.Filter) -> None:
    assert to_predicate(pushed) is None
