"""Views as JSON: what is read of them, and what is refused."""

from typing import Any

import pytest

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.spec.view_json import (
    version_from_dict,
    version_to_dict,
    view_from_dict,
    view_to_dict,
)

VERSION = {
    "version-id": 1,
    "timestamp-ms": 1_700_000_000_000,
    "schema-id": 0,
    "summary": {"engine-name": "Spark"},
    "default-catalog": "prod",
    "default-namespace": ["a", "b"],
    "representations": [{"type": "sql", "sql": "SELECT 1 AS x", "dialect": "Spark"}],
}
VIEW = {
    "view-uuid": "fa6506c3-7681-40c8-86dc-e36561f83385",
    "format-version": 1,
    "location": "s3://w/db/v",
    "current-version-id": 1,
    "versions": [VERSION],
    "version-log": [{"timestamp-ms": 1_700_000_000_000, "version-id": 1}],
    "schemas": [
        {
            "schema-id": 0,
            "type": "struct",
            "fields": [{"id": 1, "name": "x", "required": False, "type": "int"}],
        }
    ],
    "properties": {"comment": "one"},
}


def view(**members: Any) -> Any:
    return view_from_dict({**VIEW, **members})


def test_a_view_is_read_with_its_history():
    found = view()
    assert found.current_version.default_catalog == "prod"
    assert found.schema.fields[0].name == "x"
    assert [one.version_id for one in found.version_log] == [1]
    assert found.properties == {"comment": "one"}


def test_a_version_goes_back_as_it_came():
    assert version_to_dict(version_from_dict(VERSION)) == VERSION


def test_a_dialect_is_found_whatever_its_case():
    assert view().current_version.sql_for("spark") == "SELECT 1 AS x"
    assert view().current_version.sql_for("trino") is None


def test_a_representation_of_a_kind_to_come_is_left_aside():
    tree = {"type": "tree", "nodes": [1], "dialect": "spark"}
    both = [tree, *VERSION["representations"]]
    found = view(versions=[{**VERSION, "representations": both}]).current_version
    assert found.dialects == ("Spark",)
    assert found.sql_for("spark") == "SELECT 1 AS x"


def test_properties_and_summary_may_be_missing():
    plain = {key: value for key, value in VERSION.items() if key != "summary"}
    found = view(properties=None, versions=[plain])
    assert found.properties == {} and found.current_version.summary == {}


def test_a_format_to_come_is_refused():
    with pytest.raises(UnsupportedError, match="format version 2"):
        view(**{"format-version": 2})


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"current-version-id": 7}, "no version 7"),
        ({"schemas": []}, "no schema 0"),
        ({"versions": None}, "versions"),
        ({"versions": [{**VERSION, "default-namespace": "db"}]}, "default-namespace"),
        ({"versions": [{**VERSION, "default-namespace": [1]}]}, "default-namespace"),
        ({"versions": [{**VERSION, "representations": [{"type": "sql"}]}]}, "sql"),
        ({"view-uuid": 1}, "view-uuid"),
    ],
)
def test_what_is_missing_or_wrong_is_named(members: dict[str, Any], said: str):
    with pytest.raises(CorruptFileError, match=said):
        _ = view(**members).schema


def test_a_view_is_written_as_java_writes_it():
    assert view_to_dict(view_from_dict(VIEW)) == VIEW
    bare = {key: value for key, value in VIEW.items() if key != "properties"}
    assert view_to_dict(view_from_dict(bare)) == bare
    assert list(view_to_dict(view_from_dict(VIEW))) == [
        "view-uuid", "format-version", "location", "properties", "schemas",
        "current-version-id", "versions", "version-log",
    ]  # fmt: skip


def test_a_text_of_another_kind_is_not_lost_by_writing():
    plan = {"type": "plan", "bytes": "AAAA"}
    found = view(versions=[{**VERSION, "representations": [plan]}])
    with pytest.raises(UnsupportedError, match="type plan"):
        view_to_dict(found)
