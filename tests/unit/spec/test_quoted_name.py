"""Names between backquotes."""

import pytest

from iceberg_spark.spec.quoted_name import quoted_parts
from tests.builders import field, schema, struct


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("`a.b`", ("a.b",)),
        ("`a``b`", ("a`b",)),
        ("s.`x.y`.z", ("s", "x.y", "z")),
        ("` `", (" ",)),
        ("a.b", None),
        ("a`b", None),
        ("`a`b", None),
        ("`a`.", None),
        ("``", None),
    ],
)
def test_a_name_is_taken_apart_at_dots_outside_backquotes(
    text: str, parts: tuple[str, ...] | None
) -> None:
    assert quoted_parts(text) == parts


def test_columns_are_found_by_their_name_as_it_is_and_as_sql_spells_it() -> None:
    odd = schema(
        field(1, "Odd.Name x", "long"),
        field(2, "a`b", "long"),
        field(3, "s", struct(field(4, "x.y", "long"))),
    )
    for name, found in [
        ("Odd.Name x", 1), ("`Odd.Name x`", 1), ("a`b", 2), ("`a``b`", 2), ("s.`x.y`", 4),
        ("`s`.`x.y`", 4), ("`s.x.y`", 4), ("`odd.name x`", None),
    ]:  # fmt: skip
        assert odd.find_id(name) == found, name
    assert odd.find_id("`odd.NAME x`", case_sensitive=False) == 1


def test_a_column_whose_own_name_has_backquotes_wins() -> None:
    assert schema(("a", "long"), ("`a`", "long")).find_id("`a`") == 2
