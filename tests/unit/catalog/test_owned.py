"""Where a table is by its catalog or by the user, whatever its own metadata says."""

from dataclasses import replace

import pytest

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.owned import OwnedFolders, recorded_location
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.schema import Schema

SAYS = "/elsewhere"
"""What the metadata of each table says its location is."""
NAMED = LoadedTable(
    "db.t",
    new_metadata(Schema(), location=SAYS, now_ms=1),
    "/wh/db/t/metadata/00000-a.metadata.json",
    open_storage(),
)
SET = replace(NAMED.metadata, properties={"write.metadata.path": "/far/metadata"})


@pytest.mark.parametrize(
    ("table", "location"),
    [
        (NAMED, "/wh/db/t"),
        (replace(NAMED, identifier="/wh/t", metadata_location="/wh/t/metadata/v1.json"), "/wh/t"),
        (replace(NAMED, given_by_catalog=True), SAYS),
        (replace(NAMED, metadata_location="/far/00000-a.metadata.json"), None),
        (replace(NAMED, metadata=SET, metadata_location="/far/metadata/00000-a.json"), None),
        (replace(NAMED, metadata=SET, recorded_location="/wh/db/t"), "/wh/db/t"),
    ],
    ids=["a pointer", "a folder", "a server", "no folder metadata", "set elsewhere", "the name's"],
)
def test_a_tables_location_is_the_catalogs_word(table: LoadedTable, location: str | None) -> None:
    assert recorded_location(table) == location


def test_the_folder_of_the_metadata_file_is_the_tables_as_well() -> None:
    far = replace(NAMED, metadata=SET, metadata_location="/far/metadata/00000-a.metadata.json")
    owned = OwnedFolders(far.io, far)
    assert owned.home is None
    assert owned.has("/far/metadata/snap-1.avro")
    assert not owned.has("/elsewhere/data/x.parquet")
    assert not owned.has("/far/other/x.parquet")


def test_a_folder_that_the_user_chose_is_the_tables_as_well() -> None:
    assert not OwnedFolders(NAMED.io, NAMED).has("/chosen/x.parquet")
    assert OwnedFolders(NAMED.io, NAMED, "/chosen").has("/chosen/x.parquet")
