"""Spark's filters, as its optimizer shows them, read as predicates of the table."""

import json
from decimal import Decimal
from typing import Any

import pytest

from iceberg_spark.expr import nodes as n
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.literals import DateLiteral, TimestampLiteral
from iceberg_spark.expr.variant_filter import VariantField, of_columns
from iceberg_spark.spark.catalyst.file_pruning import Expression
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin, PlannedColumn
from iceberg_spark.spark.reading.footer_columns import FileColumns
from iceberg_spark.spark.reading.pushed_conditions import PushedConditions
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

INNER = t.StructType(t.NestedField(21, "a", t.IntegerType(), required=False))
BOX = t.StructType(t.NestedField(22, "v", t.VariantType(), required=False))
SCHEMA = Schema(
    t.NestedField(1, "id", t.LongType(), required=False),
    t.NestedField(2, "s", t.StringType(), required=False),
    t.NestedField(3, "d", t.DateType(), required=False),
    t.NestedField(4, "ts", t.TimestamptzType(), required=False),
    t.NestedField(5, "x", t.FloatType(), required=False),
    t.NestedField(6, "m", t.DecimalType(9, 2), required=False),
    t.NestedField(7, "u", t.UUIDType(), required=False),
    t.NestedField(8, "st", INNER, required=False),
    t.NestedField(9, "w", t.TimestampType(), required=False),
    t.NestedField(10, "v", t.VariantType(), required=False),
    t.NestedField(11, "box", BOX, required=False),
    t.NestedField(19, "open", t.BooleanType(), required=False),
)


def made(kind: str, *parts: Expression, **node: Any) -> Expression:
    """Return an expression as the optimizer's rule describes it."""
    if isinstance(node.get("type"), dict):
        node["type"] = json.dumps(node["type"])
    return Expression(kind, parts, node)


def column(name: str, **node: Any) -> Expression:
    return made("AttributeReference", name=name, **node)


def literal(value: str | None, kind: str) -> Expression:
    return made("Literal", value=value, type=kind)


def read(*filters: Expression) -> n.Unbound | None:
    return reader().predicate(filters)


def reader() -> PushedConditions:
    columns = tuple(
        PlannedColumn(field, Origin.FILE, t.NestedField(7, "u", t.FixedType(16), required=False))
        if isinstance(field.field_type, t.UUIDType)
        else PlannedColumn(field, Origin.FILE, field)
        for field in SCHEMA.fields
    )
    return PushedConditions(ColumnPlan(FileColumns(None), columns, columns), SCHEMA)


def known(field_id: int, text: str = "") -> n.BoundReference:
    field = SCHEMA.find_field(field_id)
    return n.BoundReference(field_id, field.field_type, False, text or field.name)


FLOAT_OF_A_TENTH = 0.10000000149011612
UNDERSTOOD = {
    "a boolean column": (column("open"), n.Comparison(n.Op.EQ, known(19), True)),
    "a negated boolean column": (
        made("Not", column("open")),
        n.Not(n.Comparison(n.Op.EQ, known(19), True)),
    ),
    "a number": (
        made("GreaterThan", column("id"), literal("5", "long")),
        n.Comparison(n.Op.GT, known(1), 5),
    ),
    "a literal before the column": (
        made("LessThan", literal("5", "long"), column("id")),
        n.Comparison(n.Op.GT, known(1), 5),
    ),
    "a date": (
        made("EqualTo", column("d"), literal("10", "date")),
        n.Comparison(n.Op.EQ, known(3), DateLiteral(10)),
    ),
    "a date past year 9999": (
        made("EqualTo", column("d"), literal("2932897", "date")),
        n.Comparison(n.Op.EQ, known(3), DateLiteral(2932897)),
    ),
    "an instant, by its microseconds": (
        made("LessThanOrEqual", column("ts"), literal("7", "timestamp")),
        n.Comparison(n.Op.LE, known(4), TimestampLiteral(7000, "UTC")),
    ),
    "a wall clock": (
        made("LessThanOrEqual", column("w"), literal("7", "timestamp_ntz")),
        n.Comparison(n.Op.LE, known(9), TimestampLiteral(7000, is_local=True)),
    ),
    "a float behind what shields it": (
        made(
            "EqualTo", made("NaNvl", column("x"), literal("NaN", "float")), literal("0.1", "float")
        ),
        n.Comparison(n.Op.EQ, known(5), FLOAT_OF_A_TENTH),
    ),
    "a decimal": (
        made("EqualTo", column("m"), literal("1.50", "decimal(9,2)")),
        n.Comparison(n.Op.EQ, known(6), Decimal("1.50")),
    ),
    "a long list": (
        made("InSet", column("id"), values=["1", "2"]),
        n.In(known(1), (1, 2)),
    ),
    "a prefix": (
        made("StartsWith", column("s"), literal("a", "string")),
        n.StartsWith(known(2), "a"),
    ),
    "a field of a struct": (
        made(
            "IsNull",
            made(
                "GetStructField",
                column("st", type={"type": "struct", "fields": [{"name": "a"}]}),
                ordinal=0,
            ),
        ),
        n.IsNull(known(21)),
    ),
    "equal, or NULL both": (
        made("EqualNullSafe", column("id"), literal("5", "long")),
        n.And((n.IsNull(known(1), negated=True), n.Comparison(n.Op.EQ, known(1), 5))),
    ),
}
NUMBER = UNDERSTOOD["a number"][0]
UNKNOWN = made("EqualTo", made("Add", column("id"), literal("1", "long")), literal("5", "long"))
NOT_UNDERSTOOD = {
    "a computation": UNKNOWN,
    "half an OR": made("Or", NUMBER, UNKNOWN),
    "NOT of what is half understood": made("Not", made("And", NUMBER, UNKNOWN)),
    "NULL": made("EqualTo", column("id"), literal(None, "long")),
    "another type's literal": made("EqualTo", column("id"), literal("5", "double")),
    "a text of a collation": made(
        "EqualTo", column("s"), literal("a", "string collate UNICODE_CI")
    ),
    "a uuid, which the relation has as bytes": made("EqualTo", column("u"), literal("a", "binary")),
    "a column of nothing known": made("IsNull", column("_metadata")),
    "two columns": made("EqualTo", column("id"), column("id")),
    "a long list with NULL": made("InSet", column("id"), values=["1", None]),
    "the greater of two columns": made(
        "EqualTo", made("Greatest", column("id"), column("d")), literal("5", "long")
    ),
}


@pytest.mark.parametrize("case", UNDERSTOOD)
def test_a_filter_is_read(case: str):
    given, expected = UNDERSTOOD[case]
    predicate = read(given)
    assert predicate == n.And((expected,))
    assert bind(SCHEMA, predicate) != n.ALWAYS_TRUE


@pytest.mark.parametrize("case", NOT_UNDERSTOOD)
def test_what_is_not_understood_prunes_nothing(case: str):
    assert read(NOT_UNDERSTOOD[case]) is None


def test_a_conjunct_that_is_understood_prunes_beside_one_that_is_not():
    assert read(NUMBER, UNKNOWN) == n.And((UNDERSTOOD["a number"][1],))


def variant_get(column: Expression, path: str, kind: str) -> Expression:
    return made("VariantGet", column, literal(path, "string"), type=kind)


def instead_of_variants(name: str, *fields: tuple[str, str]) -> Expression:
    """A column of variants as Spark has it where it reads fields of them alone."""
    said = [
        {"name": str(at), "type": kind, "metadata": {"__VARIANT_METADATA_KEY": {"path": path}}}
        for at, (path, kind) in enumerate(fields)
    ]
    return column(name, type={"type": "struct", "fields": said})


def field_of(outer: Expression, ordinal: int) -> Expression:
    return made("GetStructField", outer, ordinal=ordinal)


V = column("v", type="variant")
IN_BOX = made("GetStructField", column("box", type="..."), ordinal=0)


@pytest.mark.parametrize(
    ("term", "kind", "keys"),
    [
        (variant_get(V, "$.a", "integer"), t.IntegerType(), ("a",)),
        (variant_get(V, "$['a'].b", "decimal(9,2)"), t.DecimalType(9, 2), ("a", "b")),
        (made("Cast", variant_get(V, "$.a", "variant"), type="long"), t.LongType(), ("a",)),
        (made("Cast", V, type="string"), t.StringType(), ()),
        (
            field_of(instead_of_variants("v", ("$", "variant"), ("$.a", "timestamp")), 1),
            t.TimestamptzType(),
            ("a",),
        ),
        (
            made("Cast", field_of(instead_of_variants("v", ("$.a", "variant")), 0), type="int"),
            t.IntegerType(),
            ("a",),
        ),
    ],
)
def test_a_field_of_a_variant_is_a_term(
    term: Expression, kind: t.IcebergType, keys: tuple[str, ...]
) -> None:
    of = reader()
    found = of.predicate([made("IsNotNull", term)])
    assert found is not None
    wanted = of.variants.filter(of.variants.bind(found))
    assert wanted is not None
    assert list(wanted.fields.values()) == [VariantField(10, keys, kind)]


def test_fields_of_variants_are_compared_with_values_of_their_type() -> None:
    term = variant_get(V, "$.a", "integer")
    of = reader()
    five = of.predicate([made("EqualTo", term, literal("5", "integer"))])
    assert five is not None
    bound = of.variants.bind(five)
    assert isinstance(bound, n.Comparison)
    assert (bound.op, bound.value) == (n.Op.EQ, 5)
    assert of_columns(bound) == n.ALWAYS_TRUE
    assert read(made("EqualTo", term, literal("5", "string"))) is None


@pytest.mark.parametrize(
    "term",
    [
        variant_get(V, "$.a[0]", "integer"),
        variant_get(V, "$.a", "variant"),
        variant_get(V, "$.a", "string collate UTF8_LCASE"),
        variant_get(V, "$.a", "byte"),
        variant_get(column("id"), "$.a", "integer"),
        variant_get(IN_BOX, "$.a", "string collate UNICODE"),
        made("VariantGet", V, column("s"), type="integer"),
        made("Cast", variant_get(V, "$.a", "integer"), type="string"),
        made("Cast", variant_get(V, "$.a", "variant"), type="string collate UNICODE"),
        made("Cast", column("id"), type="string"),
        field_of(column("v", type={"type": "struct", "fields": [{"metadata": {}}]}), 0),
    ],
)
def test_any_other_use_of_a_variant_says_nothing(term: Expression) -> None:
    assert read(made("IsNotNull", term)) is None
