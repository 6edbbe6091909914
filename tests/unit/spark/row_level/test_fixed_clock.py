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
