"""What the schemas of a table say about names in its files."""

import pytest

from iceberg_spark.spec.field_history import FieldHistory, field_history
from iceberg_spark.spec.schema import Schema
from tests.builders import field, schema, struct


def history(*schemas):
    by_id = dict(enumerate(schemas))
    return field_history(schemas[-1], by_id)


def test_a_table_that_never_changed_has_no_history() -> None:
    assert history(schema(("a", "long"), ("b", "int"))) == FieldHistory()


def test_a_renamed_field_and_those_below_it_are_renamed() -> None:
    found = history(
        schema(field(1, "s", struct(field(2, "x", "int"))), field(3, "c", "int")),
        schema(field(1, "t", struct(field(2, "x", "int"))), field(3, "c", "int")),
    )
    assert found.renamed == {1, 2}
    assert not found.shared


def test_a_name_that_was_another_fields_is_shared_without_regard_to_case() -> None:
    found = history(schema(("a", "int")), schema(field(2, "A", "int")))
    assert found.shared == {2}
    assert found.younger == {2}


def test_a_name_that_java_writes_changed_counts_as_renamed() -> None:
    assert history(schema(("a b", "int"), ("plain_1", "int"))).renamed == {1}


def test_only_promotions_that_every_reader_knows_are_no_change_of_type() -> None:
    then = schema(("a", "int"), ("b", "float"), ("c", "decimal(9, 2)"), ("d", "date"))
    now = schema(("a", "long"), ("b", "double"), ("c", "decimal(12, 2)"), ("d", "timestamp"))
    assert history(then, now).retyped == {4}


def test_where_schemas_were_removed_every_name_may_mislead() -> None:
    found = field_history(schema(("a", "int")), {0: schema(("a", "int")), 2: schema(("a", "int"))})
    assert found.renamed == found.shared == found.younger == {1}


@pytest.mark.parametrize(
    "only",
    [
        schema(("a", "long"), ("b", "int")),
        schema(("a b", "int"), ("a", "int"), ("A", "int")),
        schema(field(1, "s", struct(field(2, "x y", "int"))), field(3, "S.X Y", "int")),
    ],
)
def test_the_only_schema_ever_has_the_history_of_one_among_equal_ones(only: Schema) -> None:
    equal = Schema(*only.fields)
    assert field_history(only, {0: only}) == field_history(only, {0: equal})
