"""Table properties."""

import pytest

from iceberg_spark.commits.metadata_changes import UpdateProperties, set_name_mapping
from iceberg_spark.errors import InvalidInputError, InvalidOptionError
from iceberg_spark.spec.name_mapping import from_schema, parse
from tests.unit.commits.tables import make_table, reloaded, run


def test_properties_are_set_and_removed():
    table = make_table(a="1", b="2")
    table = run(table, UpdateProperties({"a": "3", "c": "4"}, ["b", "nope"]))
    stored = dict(reloaded(table).metadata.properties)
    assert {key: stored.get(key) for key in "abc"} == {"a": "3", "b": None, "c": "4"}


def test_the_last_one_to_set_a_property_wins():
    base = make_table()
    run(base, UpdateProperties({"a": "1"}))
    assert run(base, UpdateProperties({"a": "2"})).metadata.properties["a"] == "2"


def test_a_property_is_not_set_and_removed_at_once():
    with pytest.raises(InvalidInputError, match="'a'"):
        UpdateProperties({"a": "1"}, ["a"])


def test_format_version_upgrades_the_table_and_is_not_stored():
    table = run(make_table(format_version=1), UpdateProperties({"format-version": "2"}))
    assert table.metadata.format_version == 2
    assert "format-version" not in table.metadata.properties


@pytest.mark.parametrize(
    "changes", [{"commit.retry.num-retries": "x"}, {"uuid": "1"}, {"write.format.default": "csv"}]
)
def test_bad_values_and_reserved_names_are_refused(changes: dict[str, str]):
    with pytest.raises(InvalidOptionError, match=next(iter(changes))):
        UpdateProperties(changes)


def test_a_name_mapping_is_stored_as_a_property():
    table = make_table()
    mapping = from_schema(table.metadata.schema)
    table = run(table, set_name_mapping(mapping))
    assert parse(table.metadata.properties["schema.name-mapping.default"]) == mapping
