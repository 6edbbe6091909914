"""What becomes of a view that is created and changed (Java: ViewMetadata.Builder)."""

from dataclasses import replace
from typing import Any

import pytest

from iceberg_spark.errors import ValidationException
from iceberg_spark.spec.next_view import create_view, replace_view, with_properties
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import LongType, NestedField, StringType
from iceberg_spark.spec.view import NewView, ViewHistoryEntry, ViewRepresentation, ViewVersion
from iceberg_spark.spec.view_json import view_from_dict, view_to_dict

ONE = Schema(NestedField(1, "a", LongType()))
OTHER = Schema(NestedField(1, "a", StringType()))
NOW = 99


def new(
    sql: str, stamp: int = 5, schema: Schema = ONE, dialect: str = "spark", **given: str
) -> NewView:
    text = ViewRepresentation(sql, dialect)
    return NewView(schema, ViewVersion(1, stamp, 0, (text,), ("db",)), given)


def log(*entries: tuple[int, int]) -> tuple[ViewHistoryEntry, ...]:
    return tuple(ViewHistoryEntry(*entry) for entry in entries)


def test_the_first_version_is_1_and_its_schema_0():
    view = create_view(new("SELECT 1", comment="x"), "/w/v")
    assert (view.current_version_id, view.current_version.schema_id) == (1, 0)
    assert view.version_log == log((5, 1))
    assert view.properties == {"comment": "x"} and view.location == "/w/v"
    assert view.view_uuid != create_view(new("SELECT 1"), "/w/v").view_uuid


def test_a_view_is_where_it_was_asked_to_go_and_stays_there():
    asked = replace(new("SELECT 1"), location="/x")
    view = create_view(asked, "/w/v")
    assert view.location == "/x"
    assert replace_view(view, new("SELECT 2", 7), NOW).location == "/x"
    moved = replace_view(view, replace(asked, location="/y"), NOW)
    assert moved == replace(view, location="/y")


def test_another_text_is_the_next_version_since_its_own_time():
    view = replace_view(create_view(new("SELECT 1"), "/v"), new("SELECT 2", 7, k="v"), NOW)
    assert view.current_version_id == 2 and view.current_version.sql_for("spark") == "SELECT 2"
    assert view.version_log == log((5, 1), (7, 2))
    assert [one.schema_id for one in view.versions] == [0, 0] and len(view.schemas) == 1
    assert view.properties == {"k": "v"}


def test_other_columns_are_another_schema():
    view = replace_view(create_view(new("SELECT 1"), "/v"), new("SELECT 'x'", schema=OTHER), NOW)
    assert [one.schema_id for one in view.schemas] == [0, 1]
    assert view.schema.fields == OTHER.fields
    back = replace_view(view, new("SELECT 3"), NOW)
    assert len(back.schemas) == 2 and back.schema.fields == ONE.fields


def test_a_former_definition_becomes_current_again_now():
    base = replace_view(create_view(new("SELECT 1"), "/v"), new("SELECT 2", 7), NOW)
    view = replace_view(base, new("SELECT 1", 50), NOW)
    assert view.versions == base.versions
    assert view.version_log == log((5, 1), (7, 2), (NOW, 1))


def test_the_definition_that_it_has_changes_nothing():
    base = create_view(new("SELECT 1"), "/v")
    assert replace_view(base, new("SELECT 1", 50), NOW) == base


def test_a_query_of_another_dialect_is_not_lost_silently():
    base = create_view(new("SELECT 1", dialect="trino"), "/v")
    with pytest.raises(ValidationException, match=r"trino.*replace\.drop-dialect-allowed"):
        replace_view(base, new("SELECT 2"), NOW)
    asked = {"replace.drop-dialect-allowed": "true"}
    assert replace_view(base, new("SELECT 2", **asked), NOW).current_version.dialects == ("spark",)


def versions_of(count: int, **given: str) -> Any:
    view = create_view(new("SELECT 1", 1, **given), "/v")
    for number in range(2, count + 1):
        view = replace_view(view, new(f"SELECT {number}", number), NOW)
    return view


def test_ten_versions_are_kept_the_current_one_first():
    view = versions_of(12)
    assert [one.version_id for one in view.versions] == [12, *range(11, 2, -1)]
    assert view.version_log == log(*((n, n) for n in range(3, 13)))


def test_a_property_says_how_many_versions_are_kept():
    view = versions_of(3, **{"version.history.num-entries": "2"})
    assert {one.version_id for one in view.versions} == {2, 3}
    fewer = with_properties(view, {"version.history.num-entries": "1"}, ())
    assert [one.version_id for one in fewer.versions] == [3]
    with pytest.raises(ValidationException, match="must be positive"):
        with_properties(view, {"version.history.num-entries": "0"}, ())


def test_the_log_begins_behind_a_version_that_is_gone():
    base = versions_of(3)
    base = replace_view(base, new("SELECT 1", 50), NOW)  # 1, 2, 3, 1
    view = with_properties(base, {"version.history.num-entries": "2"}, ())
    assert {one.version_id for one in view.versions} == {1, 3}
    assert view.version_log == log((3, 3), (NOW, 1))


def test_properties_are_set_and_taken_away():
    base = create_view(new("SELECT 1", a="1", b="2"), "/v")
    view = with_properties(base, {"c": "3"}, ("a", "none"))
    assert view == replace(base, properties={"b": "2", "c": "3"})


def test_a_view_is_the_same_after_its_file_was_written_and_read():
    view = versions_of(3, comment="x")
    assert view_from_dict(view_to_dict(view)) == view
