"""Specification, Appendix C: names of types."""

import pytest

from iceberg_spark.errors import InvalidSchemaError, UnsupportedError
from iceberg_spark.spec.types import (
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    LongType,
    VariantType,
    parse_type,
)

NAMES = [
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "timestamp_ns",
    "timestamptz_ns",
    "string",
    "uuid",
    "binary",
    "unknown",
    "variant",
]


@pytest.mark.parametrize("name", [*NAMES, "decimal(9, 2)", "fixed[16]", "geometry(srid:4326)"])
def test_a_name_reads_back_as_it_is_written(name):
    assert str(parse_type(name)) == name


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("decimal(9,2)", DecimalType(9, 2)),
        ("decimal( 9 , 2 )", DecimalType(9, 2)),
        ("DECIMAL(9,2)", DecimalType(9, 2)),
        ("Long", LongType()),
        ("fixed[ 16 ]", FixedType(16)),
        ("geometry", GeometryType()),
        ("geometry(OGC:CRS84)", GeometryType("OGC:CRS84")),
        ("geography", GeographyType()),
        ("geography(srid:4326)", GeographyType("srid:4326")),
        ("geography(srid:4326, Karney)", GeographyType("srid:4326", "karney")),
        ("geography( srid:4326 ,spherical )", GeographyType("srid:4326", "spherical")),
        ("variant", VariantType()),
    ],
)
def test_blanks_and_case_do_not_matter(text, kind):
    assert parse_type(text) == kind


def test_an_algorithm_is_written_with_the_default_crs():
    text = str(GeographyType(None, "karney"))
    assert text == "geography(OGC:CRS84, karney)"
    assert parse_type(text) == GeographyType("OGC:CRS84", "karney")


@pytest.mark.parametrize("text", ["decimal(39, 2)", "decimal(0, 0)", "geography(a, flat)"])
def test_parameters_out_of_range_are_refused(text):
    with pytest.raises(InvalidSchemaError):
        parse_type(text)


@pytest.mark.parametrize("text", ["interval", "decimal", "fixed(16", "", "decimal(9)"])
def test_an_unknown_type_is_named(text):
    with pytest.raises(UnsupportedError, match=r"Unknown type '.*'"):
        parse_type(text)
