"""A clock in the expressions of a change says one time in all of them."""

import re

import pytest

from iceberg_spark.spark.row_level.fixed_clock import clock


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("ts < current_timestamp()", "ts < timestamp_micros(N)"),
        ("ts < NOW( ) - interval 1 day", "ts < timestamp_micros(N) - interval 1 day"),
        ("d = current_date", "d = cast(timestamp_micros(N) as date)"),
        ("d = curdate() or a", "d = cast(timestamp_micros(N) as date) or a"),
        ("l > localtimestamp", "l > cast(timestamp_micros(N) as timestamp_ntz)"),
        ("u > unix_timestamp()", "u > unix_seconds(timestamp_micros(N))"),
        ("now()>current_date", "timestamp_micros(N)>cast(timestamp_micros(N) as date)"),
        ("date_add(current_date(), 1)", "date_add(cast(timestamp_micros(N) as date), 1)"),
    ],
)
def test_clocks_become_a_moment(text: str, shape: str) -> None:
    assert re.sub(r"\d{16}", "N", clock([])(text)) == shape


@pytest.mark.parametrize(
    "text",
    [
        "c = 'current_timestamp()'",
        'c = "it\\"s now()"',
        "`current_date` = 1 and t.current_date = 2",
        "current_date.x = 1",
        "c = r'\\' or d = 'now()'",
        "unix_timestamp(ts) > 0 and now > 1 and my_now() = 2",
        "current_timestamp_of(x)",
        "no SQL ' now()",
    ],
)
def test_all_else_stays(text: str) -> None:
    assert clock([])(text) == text


def test_a_column_of_that_name_is_a_column() -> None:
    assert clock(["Current_Date"])("current_date = 1") == "current_date = 1"


def test_all_texts_of_a_change_have_one_moment() -> None:
    stamp = clock([])
    assert stamp("now()") == stamp("now()")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("d < (SELECT max(current_date) FROM c)", "d < (SELECT max(current_date) FROM c)"),
        ("d < (SELECT max(now()) FROM c)", "d < (SELECT max(timestamp_micros(N)) FROM c)"),
        (
            "d IN (FROM c SELECT current_date) and e = current_timestamp",
            "d IN (FROM c SELECT current_date) and e = timestamp_micros(N)",
        ),
        ("(d < current_timestamp)", "(d < timestamp_micros(N))"),
    ],
)
def test_words_of_a_query_may_be_columns_that_nobody_knows_of(text: str, shape: str) -> None:
    assert re.sub(r"\d{16}", "N", clock([])(text)) == shape


def test_a_query_whose_columns_are_known_has_the_moment_that_is_given() -> None:
    stamp = clock([], 1_700_000_000_000_000, queried=["current_date"])
    assert stamp("SELECT current_date, localtimestamp, now()") == (
        "SELECT current_date, cast(timestamp_micros(1700000000000000) as timestamp_ntz), "
        "timestamp_micros(1700000000000000)"
    )
