"""Which mode a column has, by Java's rules for `write.metadata.metrics.*`."""

from __future__ import annotations

import pytest

from iceberg_spark.formats.metrics_modes import (
    COUNTS,
    FULL,
    NONE,
    TRUNCATE_16,
    MetricsMode,
    ModeKind,
    metrics_modes,
    parse_mode,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

DEFAULT = "write.metadata.metrics.default"
COLUMN = "write.metadata.metrics.column."
LIMIT = "write.metadata.metrics.max-inferred-column-defaults"
SCHEMA = Schema(
    NestedField(1, "a", LongType()),
    NestedField(2, "st", StructType(NestedField(3, "x", StringType()))),
    NestedField(4, "li", ListType(5, IntegerType())),
    NestedField(6, "m", MapType(7, StringType(), 8, IntegerType())),
    NestedField(9, "b", StringType()),
)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("none", NONE),
        ("Counts", COUNTS),
        ("FULL", FULL),
        ("truncate(16)", TRUNCATE_16),
        ("Truncate(3)", MetricsMode(ModeKind.TRUNCATE, 3)),
        ("truncate(0)", None),
        ("truncate", None),
        ("all", None),
    ],
)
def test_modes_are_read_without_case(text: str, mode: MetricsMode | None) -> None:
    assert parse_mode(text) == mode


def test_every_column_has_truncate_16_by_default() -> None:
    assert set(metrics_modes(SCHEMA, {}).values()) == {TRUNCATE_16}
    assert metrics_modes(SCHEMA, {}).keys() == set(SCHEMA.field_ids)


def test_the_default_mode_is_for_all_columns() -> None:
    assert set(metrics_modes(SCHEMA, {DEFAULT: "counts"}).values()) == {COUNTS}


def test_a_column_has_its_own_mode_by_full_name() -> None:
    given = {DEFAULT: "none", f"{COLUMN}st.x": "full", f"{COLUMN}b": "counts", f"{COLUMN}z": "full"}
    modes = metrics_modes(SCHEMA, given)
    assert {key: mode for key, mode in modes.items() if mode != NONE} == {3: FULL, 9: COUNTS}


def test_only_the_first_columns_have_a_mode_that_was_not_asked_for() -> None:
    """Primitive columns of a struct come before those of the structs, lists and maps inside."""
    modes = metrics_modes(SCHEMA, {LIMIT: "3", f"{COLUMN}m.value": "full"})
    assert {key for key, mode in modes.items() if mode == TRUNCATE_16} == {1, 9, 3}
    assert modes[5] == NONE
    assert modes[8] == FULL


def test_an_explicit_default_has_no_limit() -> None:
    modes = metrics_modes(SCHEMA, {LIMIT: "1", DEFAULT: "full"})
    assert set(modes.values()) == {FULL}


def test_sorted_columns_have_at_least_truncate_16() -> None:
    assert metrics_modes(SCHEMA, {DEFAULT: "counts"}, [9])[9] == TRUNCATE_16
    assert metrics_modes(SCHEMA, {DEFAULT: "full"}, [9])[9] == FULL
    assert metrics_modes(SCHEMA, {LIMIT: "0"}, [9])[9] == TRUNCATE_16
    given = {DEFAULT: "counts", f"{COLUMN}b": "none"}
    assert metrics_modes(SCHEMA, given, [9])[9] == NONE


def test_a_mode_that_can_not_be_read_counts_as_not_given(caplog: pytest.LogCaptureFixture) -> None:
    modes = metrics_modes(SCHEMA, {DEFAULT: "plenty", f"{COLUMN}b": "x", LIMIT: "many"})
    assert set(modes.values()) == {TRUNCATE_16}
    assert "plenty" in caplog.text


def test_a_column_mode_that_can_not_be_read_is_the_default() -> None:
    assert metrics_modes(SCHEMA, {DEFAULT: "counts", f"{COLUMN}b": "x"})[9] == COUNTS
