"""Projections never lose a row nor claim one too many; residuals keep the predicate's meaning."""

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.evaluate import evaluate
from iceberg_spark.expr.project import inclusive, residual, strict
from iceberg_spark.expr.transform_value import transform_value
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
    can_transform,
)
from iceberg_spark.spec.types import DateType
from tests.properties.expr_strategies import SCHEMA, predicates, rows

TRANSFORMS = (
    IdentityTransform(), BucketTransform(3), TruncateTransform(1), TruncateTransform(2),
    TruncateTransform(10), YearTransform(), MonthTransform(), DayTransform(), HourTransform(),
    VoidTransform(),
)  # fmt: skip
TIME = (YearTransform, MonthTransform, DayTransform, HourTransform)
PAIRS = [
    (field, transform)
    for field in SCHEMA.fields
    for transform in TRANSFORMS
    if can_transform(transform, field.field_type)
]


@st.composite
def specs(draw):
    """Specs of one to three fields, and the source fields."""
    pairs = draw(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=3))
    parts = tuple(
        PartitionField((field.field_id,), 1000 + i, transform, f"p{i}")
        for i, (field, transform) in enumerate(pairs)
    )
    return PartitionSpec(1, parts), tuple(dict.fromkeys(field for field, _ in pairs))


@st.composite
def cases(draw):
    spec, fields = draw(specs())
    bound = bind(SCHEMA, draw(predicates(fields)))
    return spec, bound, draw(rows(SCHEMA.fields, min_size=1, max_size=1))[0]


def partition_of(spec, row, old_writer=False):
    """The row's tuple; an old writer made times before 1970 one too large."""
    values = []
    for part in spec.fields:
        source = SCHEMA.find_field(part.source_id)
        value = row[part.source_id]
        made = transform_value(part.transform, source.field_type, value)
        day_of_date = isinstance(part.transform, DayTransform) and source.field_type == DateType()
        if old_writer and isinstance(part.transform, TIME) and not day_of_date:
            made = made + 1 if value is not None and made < 0 else made
        values.append(made)
    return tuple(values)


@given(cases(), st.booleans())
def test_a_matching_row_is_in_the_inclusive_projection(case, old_writer):
    spec, bound, row = case
    assume(evaluate(bound, row))
    partition = partition_of(spec, row, old_writer)
    tuple_row = dict(zip((part.field_id for part in spec.fields), partition, strict=True))
    assert evaluate(inclusive(bound, spec, SCHEMA), tuple_row)


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # few strict projections hold
@given(cases(), st.booleans())
def test_a_tuple_of_the_strict_projection_has_matching_rows_only(case, old_writer):
    spec, bound, row = case
    partition = partition_of(spec, row, old_writer)
    tuple_row = dict(zip((part.field_id for part in spec.fields), partition, strict=True))
    assume(evaluate(strict(bound, spec, SCHEMA), tuple_row))
    assert evaluate(bound, row)


@given(cases(), st.booleans())
def test_the_residual_keeps_what_the_predicate_keeps(case, old_writer):
    spec, bound, row = case
    left = residual(bound, spec, SCHEMA, partition_of(spec, row, old_writer))
    assert evaluate(left, row) == evaluate(bound, row)


@given(cases())
def test_unknown_transforms_and_several_sources_say_nothing(case):
    spec, bound, _ = case
    parts = [
        PartitionField(part.source_ids, part.field_id, UnknownTransform("zorder"), part.name)
        for part in spec.fields
    ]
    parts.append(PartitionField((1, 2), 2000, BucketTransform(4), "several"))
    unknown = PartitionSpec(2, tuple(parts))
    assume(str(bound) != str(inclusive(bound, unknown, SCHEMA)))
    assert evaluate(inclusive(bound, unknown, SCHEMA), {})
    assert not evaluate(strict(bound, unknown, SCHEMA), {})
