"""Predicates on fields of variants, in SQL texts: what is understood of them."""

import pytest

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Comparison, Op
from iceberg_spark.expr.parse_variant import variant_conjuncts
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.expr.variant_filter import (
    VariantField,
    keys_of_extraction,
    of_columns,
    type_of_extraction,
    variant_filter,
)
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

INNER = t.StructType(t.NestedField(4, "w", t.VariantType(), required=False))
LISTED = t.ListType(6, t.VariantType(), element_required=False)
SCHEMA = Schema(
    t.NestedField(1, "id", t.LongType(), required=False),
    t.NestedField(2, "v", t.VariantType(), required=False),
    t.NestedField(3, "st", INNER, required=False),
    t.NestedField(5, "l", LISTED, required=False),
)


def fields_in(condition: str, alias: str | None = None) -> list[VariantField]:
    """The fields of variants in what is understood of a condition."""
    found = variant_filter(SCHEMA, variant_conjuncts(condition, alias))
    return [] if found is None else list(found.fields.values())


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("$", ()),
        ("$.a", ("a",)),
        ("$.a.b", ("a", "b")),
        ("$['a']", ("a",)),
        ('$["a"].b', ("a", "b")),
        ("$['a.b'][\"it's\"]", ("a.b", "it's")),
        ("$.a-b c", ("a-b c",)),
        ("$.a'b", ("a'b",)),
        ("$.A", ("A",)),
    ],
)
def test_paths_of_keys_are_understood(path: str, keys: tuple[str, ...]) -> None:
    assert keys_of_extraction(path) == keys


@pytest.mark.parametrize(
    "path",
    ["", "a", "$[0]", "$.a[0]", "$.a[0].b", "$ .a", "$. a", "$[' a']", "$.", "$..a", "$['']",
     "$['a?']", "$[a]", "$['a\"]", "$.a[", " $.a"],
)  # fmt: skip
def test_items_of_arrays_blanks_and_what_is_no_path_are_not(path: str) -> None:
    assert keys_of_extraction(path) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("int", t.IntegerType()),
        ("INTEGER", t.IntegerType()),
        ("bigint", t.LongType()),
        ("double", t.DoubleType()),
        ("decimal(9, 2)", t.DecimalType(9, 2)),
        ("string", t.StringType()),
        ("timestamp", t.TimestamptzType()),
        ("timestamp_ntz", t.TimestampType()),
        ("decimal(9,10)", None),
        ("decimal(39,2)", None),
        ("decimal", None),
        ("tinyint", None),
        ("varchar(3)", None),
        ("string collate utf8_lcase", None),
        ("binary", None),
        ("variant", None),
        ("struct<a int>", None),
    ],
)
def test_types_with_bounds_are_understood(text: str, kind: t.IcebergType | None) -> None:
    assert type_of_extraction(text) == kind


@pytest.mark.parametrize(
    "condition",
    [
        "variant_get(v, '$.a', 'int') > 5",
        "try_variant_get(V, '$.a', 'INT') in (1, 2)",
        "5 < cast(variant_get(v, '$.a') as int)",
        "variant_get(v, '$.a')::int <=> 5",
        "try_cast(try_variant_get(v, '$.a', 'variant') as int) = 5",
        "not (variant_get((v), '$[\"a\"]', 'int') between 1 and 3)",
        "id = 3 and (variant_get(v, '$.a', 'int') = 3 or id = 7)",
    ],
)
def test_calls_and_casts_of_calls_are_fields(condition: str) -> None:
    found = variant_filter(SCHEMA, variant_conjuncts(condition), case_sensitive=False)
    assert found is not None
    assert list(found.fields.values()) == [VariantField(2, ("a",), t.IntegerType())]


@pytest.mark.parametrize(
    "condition",
    [
        "id = 5",
        "variant_get(v, '$.a[0]', 'int') = 5",
        "variant_get(v, concat('$', '.a'), 'int') = 5",
        "variant_get(v, '$.a', 'tinyint') = 5",
        "variant_get(v, '$.a') is null",
        "variant_get(v, '$.a', 'int') + 1 = 5",
        "abs(variant_get(v, '$.a', 'int')) = 5",
        "cast(variant_get(v, '$.a', 'int') as string) = '5'",
        "cast(variant_get(v, '$.a') as string collate utf8_lcase) = 'a'",
        "cast(variant_get(v, '$.a', 'string') as int) = 5",
        "variant_get(v, '$.a', 'int') = variant_get(v, '$.b', 'int')",
        "variant_get(v, '$.a', 'int') = id",
        "variant_get(parse_json('{}'), '$.a', 'int') = 5",
        "variant_get(id, '$.a', 'int') = 5",
        "variant_get(other, '$.a', 'int') = 5",
        "variant_get(l.element, '$.a', 'int') = 5",
        "variant_get(v, '$.a', 'int') = 'five'",
        "variant_get(v, '$.a', 'timestamp') > '2024-01-01'",
        "variant_get(v, '$.a', 'int') = 5 or length(id) = 5",
        "variant_get(v, '$.a', 'int') =",
    ],
)
def test_what_is_not_understood_says_nothing(condition: str) -> None:
    assert fields_in(condition) == []


def test_conjuncts_are_understood_one_by_one() -> None:
    condition = "variant_get(v, '$.a', 'int') = 5 and rand() < 1 and variant_get(v,'$[0]','int')=1"
    assert fields_in(condition) == [VariantField(2, ("a",), t.IntegerType())]


def test_a_variant_in_a_struct_is_a_column_and_an_alias_is_left_out() -> None:
    field = VariantField(4, ("a",), t.IntegerType())
    assert fields_in("variant_get(st.w, '$.a', 'int') = 5") == [field]
    assert fields_in("variant_get(t.st.w, '$.a', 'int') = 5", "t") == [field]
    assert fields_in("variant_get(s.st.w, '$.a', 'int') = 5", "t") == []
    assert fields_in("variant_get(t.v, '$.a', 'int') = s.id", "t") == []


def test_keys_keep_their_case_in_a_session_that_ignores_it() -> None:
    condition = "variant_get(V, '$.A', 'int') = 5 or variant_get(v, '$.a', 'int') = 6"
    found = variant_filter(SCHEMA, variant_conjuncts(condition), case_sensitive=False)
    assert found is not None
    assert [one.keys for one in found.fields.values()] == [("A",), ("a",)]


def test_a_session_whose_settings_change_the_meaning_is_not_understood() -> None:
    changed = Dialect(changed=("spark.sql.timestampType",))
    assert variant_conjuncts("variant_get(v, '$.a', 'int') = 5", None, changed) == ()


def test_texts_are_read_as_spark_reads_them() -> None:
    assert fields_in(r"variant_get(v, '$[\'a\']', 'int') = 5") == [
        VariantField(2, ("a",), t.IntegerType())
    ]
    raw = variant_conjuncts("variant_get(v, '$.a\\d', 'int') = 5", None, Dialect(raw_texts=True))
    assert [one.keys for one in raw[0].fields.values()] == [("a\\d",)]


def test_what_is_said_of_columns_is_weaker_than_the_whole() -> None:
    condition = "id > 3 and (id < 9 or variant_get(v, '$.a', 'int') = 3) and id != 5"
    found = variant_filter(
        SCHEMA, variant_conjuncts(f"({condition}) or variant_get(v, '$.a', 'int') = 4 and id = 1")
    )
    assert found is not None
    assert of_columns(found.bound) != ALWAYS_TRUE
    assert to_text(of_columns(found.bound), None) == "(id > 3 AND id != 5) OR id = 1"
    (leaf,) = variant_conjuncts("variant_get(v, '$.a', 'int') = 4")
    assert isinstance(leaf.predicate, Comparison)
    assert leaf.predicate.op is Op.EQ
    alone = variant_filter(SCHEMA, [leaf])
    assert alone is not None
    assert of_columns(alone.bound) == ALWAYS_TRUE
