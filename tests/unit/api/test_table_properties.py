"""What properties of a table do and what is refused, through the public functions."""

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import IcebergError, InvalidInputError, ValidationException
from iceberg_spark.spec.properties import RESERVED
from iceberg_spark.spec.requirements import requirements_for
from iceberg_spark.spec.updates import SetProperties
from tests.unit.api.tables import ids, make, new_location, rows

CATALOG = FileSystemCatalog("others")
UNSETTABLE = sorted(RESERVED - {"format-version"})


@pytest.mark.parametrize("name", UNSETTABLE)
def test_a_reserved_property_is_refused(name: str) -> None:
    table = make()
    with pytest.raises(IcebergError, match=f"'{name}' is reserved"):
        table.update_properties().set({name: "1"}).commit()
    assert name not in table.refresh().properties
    with pytest.raises(IcebergError, match=f"'{name}' is reserved"):
        ice.create_table(new_location(), "id bigint", properties={name: "1"})


def test_a_v1_table_is_upgraded_and_its_rows_stay() -> None:
    table = make(**{"format-version": "1"})
    table.append(rows(id=[1]))
    table.update_properties().set({"format-version": "2"}).commit()
    assert table.metadata.format_version == 2
    table.append(rows(id=[2]))
    assert ids(table) == [1, 2]
    current = table.current_snapshot()
    assert current is not None
    assert current.sequence_number == 1
    assert "format-version" not in table.properties


@pytest.mark.parametrize(("version", "message"), [("1", "go back"), ("4", "4"), ("x", "integer")])
def test_a_table_does_not_get_an_older_or_unknown_version(version: str, message: str) -> None:
    table = make()
    with pytest.raises(IcebergError, match=message):
        table.update_properties().set({"format-version": version}).commit()
    assert table.refresh().metadata.format_version == 2


def metadata_files(table: Table) -> int:
    found = table.io.list(f"{table.location()}/metadata")
    return sum(1 for info in found if info.path.endswith(".metadata.json"))


def test_old_metadata_files_are_deleted_where_the_table_says_so() -> None:
    kept = {"write.metadata.previous-versions-max": "2",
            "write.metadata.delete-after-commit.enabled": "true"}  # fmt: skip
    table = make(**kept)
    for number in range(5):
        table.update_properties().set({"n": str(number)}).commit()
    assert metadata_files(table) == 3
    assert len(table.metadata.metadata_log) == 2


def test_a_value_that_is_none_of_the_choices_is_refused() -> None:
    table = make()
    with pytest.raises(IcebergError, match=r"gc\.enabled.*must be true or false"):
        table.update_properties().set({"gc.enabled": "maybe"}).commit()
    with pytest.raises(IcebergError, match=r"history\.expire\.min-snapshots-to-keep"):
        table.update_properties().set({"history.expire.min-snapshots-to-keep": "few"}).commit()


ODD = {
    "write.metadata.delete-after-commit.enabled": "yes",
    "read.split.adaptive-size.enabled": "1",
    "commit.manifest-merge.enabled": "on",
    "write.wap.enabled": "y",
    "write.object-storage.enabled": "",
    "gc.enabled": "ja",
}


def test_a_table_whose_flags_are_no_flags_is_read_changed_and_mended() -> None:
    """Java reads whatever is not "true" as false."""
    table = make()
    table.append(rows(id=[1], k=["a"]))
    base = CATALOG.load(table.location())
    updates = (SetProperties(ODD),)
    CATALOG.commit(table.location(), requirements_for(base.metadata, updates), updates, base)
    table = ice.load_table(table.location())
    table.append(rows(id=[2], k=["b"]))
    table.delete("id = 1")
    assert ids(table) == [2]
    with pytest.raises(ValidationException, match=r"gc\.enabled"):
        table.maintenance.expire_snapshots()
    table.update_properties().set(dict.fromkeys(ODD, "false")).commit()
    assert ids(ice.load_table(table.location())) == [2]


def test_a_property_is_not_set_and_removed_in_one_update():
    table = make()
    with pytest.raises(InvalidInputError, match="'k' is to be set and removed at once"):
        table.update_properties().set({"k": "v"}).remove("k")
    with pytest.raises(InvalidInputError, match="'k' is to be set and removed at once"):
        table.update_properties().remove("k").set({"k": "v"})
