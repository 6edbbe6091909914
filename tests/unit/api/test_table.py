"""A table: loading it, what it tells, refreshing, properties, how it looks."""

import pickle
from pathlib import Path

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import (
    IcebergError,
    InvalidInputError,
    InvalidOptionError,
    NoSuchTableError,
    UnsupportedError,
)
from tests.unit.api.tables import ids, make, new_location, rows


def test_a_table_is_loaded_by_its_location(tmp_path: Path):
    made = make(tmp_path / "t")
    loaded = ice.load_table(str(tmp_path / "t"))
    assert loaded.metadata.table_uuid == made.metadata.table_uuid


@pytest.mark.parametrize("spelling", ["{}", "{}/", "file:{}", "file://{}"])
def test_every_spelling_of_a_location_is_the_same_table(tmp_path: Path, spelling: str):
    made = make(tmp_path / "t")
    loaded = ice.load_table(spelling.format(tmp_path / "t"))
    assert loaded.metadata.table_uuid == made.metadata.table_uuid


def test_a_metadata_file_is_the_table_at_that_version(tmp_path: Path):
    table = make(tmp_path / "t")
    table.append(rows(id=[1]))
    then = table.metadata_location
    table.append(rows(id=[2]))
    assert ids(ice.load_table(then)) == [1]


def test_a_table_of_a_metadata_file_is_read_only(tmp_path: Path):
    table = make(tmp_path / "t")
    pinned = ice.load_table(table.metadata_location)
    with pytest.raises(UnsupportedError, match=r"read-only|metadata"):
        pinned.append(rows(id=[1]))
    assert table.refresh().snapshots() == []


def test_no_table_is_an_error_that_says_where_was_looked(tmp_path: Path):
    with pytest.raises(NoSuchTableError, match=str(tmp_path)):
        ice.load_table(str(tmp_path))


def test_refresh_loads_what_others_committed():
    one = make()
    other = ice.load_table(one.location())
    other.append(rows(id=[1]))
    assert ids(one) == []
    assert one.refresh() is one
    assert ids(one) == [1]


def test_a_verb_leaves_the_table_at_the_version_it_made():
    table = make()
    table.append(rows(id=[1]))
    assert len(table.snapshots()) == 1
    assert table.current_snapshot() == table.snapshots()[0]
    assert [entry.snapshot_id for entry in table.history()] == list(table.metadata.snapshots)
    assert {name: ref.snapshot_id for name, ref in table.refs().items()} == {
        "main": table.snapshots()[0].snapshot_id
    }


def test_properties_are_a_copy():
    table = make()
    table.properties["x"] = "1"
    assert "x" not in table.properties


def test_properties_may_be_called_like_the_methods_beside_them():
    table = make(owner="me")
    assert table.properties()["owner"] == "me" and table.properties() == table.properties


def test_update_properties_sets_and_removes_in_one_commit():
    table = make(a="1", b="2")
    version = table.metadata_location
    table.update_properties().set({"a": "3"}, c=4).remove("b", "never-there").commit()
    assert {key: table.properties.get(key) for key in "abc"} == {"a": "3", "b": None, "c": "4"}
    assert [entry.metadata_file for entry in table.metadata.metadata_log][-1] == version


def test_update_properties_commits_at_the_end_of_its_block():
    table = make()
    with table.update_properties() as update:
        update.set(owner="me")
        assert "owner" not in ice.load_table(table.location()).properties
    assert ice.load_table(table.location()).properties["owner"] == "me"


def test_update_properties_commits_nothing_after_an_error_in_its_block():
    table = make()
    update = table.update_properties().set(owner="me")
    with pytest.raises(KeyError), update:
        raise KeyError("mine")
    assert "owner" not in table.refresh().properties


@pytest.mark.parametrize(
    ("changes", "shown"),
    [({"current-schema": "x"}, "current-schema"), ({"commit.retry.num-retries": "x"}, "num-retr")],
)
def test_a_bad_property_is_refused_and_changes_nothing(changes: dict[str, str], shown: str):
    table = make()
    with pytest.raises(InvalidOptionError, match=shown):
        table.update_properties().set(changes).commit()
    assert table.refresh().metadata.metadata_log == ()


def test_a_property_is_not_set_to_none():
    with pytest.raises(InvalidInputError, match=r"'a' can't be None.*remove"):
        make().update_properties().set(a=None)


def test_the_property_format_version_upgrades_the_table():
    table = make(format_version="1")
    table.update_properties().set({"format-version": "2"}).commit()
    assert (table.metadata.format_version, "format-version" in table.properties) == (2, False)


def test_a_table_upgraded_to_version_3_is_read_and_written():
    table = make()
    table.append(rows(id=[1]))
    table.update_properties().set({"format-version": "3"}).commit()
    assert (table.metadata.format_version, table.metadata.next_row_id) == (3, 0)
    table.append(rows(id=[2]))
    assert sorted(table.refresh().scan().to_arrow().column("id").to_pylist()) == [1, 2]
    assert table.metadata.next_row_id == 2


@pytest.mark.parametrize("version", ["1", "4", "two"])
def test_a_table_does_not_go_back_or_to_an_unknown_version(version):
    table = make()
    with pytest.raises(IcebergError, match=version):
        table.update_properties().set({"format-version": version}).commit()
    assert table.refresh().metadata.format_version == 2


def test_a_table_shows_its_columns_layout_and_newest_snapshot():
    table = make(schema="id bigint not null, ts timestamp", partition_by=["days(ts)"])
    assert "snapshot: none yet" in repr(table)
    table.append(rows(id=[1, 2]))
    text = repr(table)
    assert text.startswith(f"Table {table.location()}\n  1: id: required long")
    assert "partitioned by: ts_day = day(ts)" in text
    assert f"snapshot: {table.current_snapshot().snapshot_id}, append, " in text
    assert "holds: 2 rows, 1 data files, 0 delete files" in text


def test_a_notebook_shows_the_same_with_names_escaped():
    table = ice.create_table(new_location(), "`a<b` bigint comment 'x & y'", sort_order=["`a<b`"])
    html = table._repr_html_()
    assert "<b>a&lt;b</b>" in html and "x &amp; y" in html and "sorted by" in html


def test_secrets_are_not_shown():
    where = new_location()
    made = ice.create_table(where, "id bigint", **{"s3.secret-access-key": "hush"})
    made.append(rows(id=[1]))
    scan = made.scan()
    shown = [repr(made), made._repr_html_(), repr(made.io), repr(scan), scan.explain()]
    assert not [text for text in shown if "hush" in text]


def test_storage_is_picklable_for_workers():
    io = make().io
    assert dict(pickle.loads(pickle.dumps(io)).properties) == dict(io.properties)
