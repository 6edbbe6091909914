"""Tables and views in one folder, as it happens when one is renamed and its name given anew."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark import Table, TableCatalog
from iceberg_spark.catalog.catalog import Views
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.errors import (
    CommitFailedException,
    CorruptFileError,
    StorageError,
    ValidationException,
)
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.maintenance import drop
from tests.unit.api.tables import ids, rows
from tests.unit.spec.test_next_view import new


@pytest.fixture(params=["memory", "sql"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> TableCatalog:
    uri = f"sqlite:///{tmp_path}/c.db"
    made = ice.load_catalog(
        tmp_path.name, type=request.param, uri=uri, warehouse=str(tmp_path / "wh")
    )
    made.create_namespace("db")
    return made


@pytest.fixture
def views(catalog: TableCatalog) -> Views:
    found = catalog._catalog.views
    assert found is not None
    return found


def filled(catalog: TableCatalog, number: int, **properties: str) -> Table:
    table = catalog.create_table("db.t", "id bigint, k string", properties=properties)
    table.append(rows(id=[number], k=["a"]))
    return table


def files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if path.is_file()}


def make_old(folder: Path) -> None:
    for path in files(folder):
        os.utime(path, (time.time() - 9 * 86_400,) * 2)


def renamed_view(views: Views) -> None:
    """Make the view `db.v`, whose file is where a table `db.t` goes."""
    views.create("db.t", new("SELECT 1"))
    views.rename("db.t", "db.v")


def test_a_purge_keeps_a_renamed_table(catalog: TableCatalog, tmp_path: Path) -> None:
    before = filled(catalog, 1)
    kept = files(tmp_path / "wh")
    catalog.rename_table("db.t", "db.u")
    after = filled(catalog, 2)
    assert after.location() == before.location()
    catalog.purge_table("db.t")
    assert files(tmp_path / "wh") == kept
    assert ids(catalog.load_table("db.u")) == [1]


def test_a_purge_keeps_the_newer_table_of_a_renamed_ones_name(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    filled(catalog, 1)
    catalog.rename_table("db.t", "db.u")
    filled(catalog, 2)
    catalog.purge_table("db.u")
    assert ids(catalog.load_table("db.t")) == [2]


def test_a_purge_keeps_a_renamed_table_whose_metadata_is_elsewhere(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    """Nothing in the folder tells of it but its data."""
    filled(catalog, 1, **{"write.metadata.path": str(tmp_path / "far")})
    catalog.rename_table("db.t", "db.u")
    filled(catalog, 2)
    catalog.purge_table("db.t")
    assert ids(catalog.load_table("db.u")) == [1]


def test_a_table_that_was_renamed_while_it_is_purged_stays(
    catalog: TableCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files were found already; the name is another table's by then."""
    filled(catalog, 1)
    own = drop._own_files

    def renamed(*given: Any) -> list[str]:
        found = own(*given)
        catalog.rename_table("db.t", "db.u")
        filled(catalog, 2)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(drop, "_own_files", renamed)
        with pytest.raises(CommitFailedException, match="another table"):
            catalog.purge_table("db.t")
    assert ids(catalog.load_table("db.u")) == [1] and ids(catalog.load_table("db.t")) == [2]


def test_a_table_that_is_renamed_just_before_its_pointer_goes_stays(
    catalog: TableCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(catalog, 1)
    own = PointerCatalog.remove

    def remove(self: PointerCatalog, table: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(PointerCatalog, "remove", own)
            catalog.rename_table("db.t", "db.u")
            filled(catalog, 2)
        own(self, table)

    with monkeypatch.context() as patch:
        patch.setattr(PointerCatalog, "remove", remove)
        with pytest.raises(CommitFailedException, match="another table"):
            catalog.purge_table("db.t")
    assert ids(catalog.load_table("db.u")) == [1] and ids(catalog.load_table("db.t")) == [2]


def test_a_purge_takes_the_files_of_a_commit_that_comes_meanwhile(
    catalog: TableCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(catalog, 1)
    own = drop._own_files

    def overtaken(*given: Any) -> list[str]:
        found = own(*given)
        monkeypatch.setattr(drop, "_own_files", own)
        table.append(rows(id=[2], k=["b"]))
        return found

    monkeypatch.setattr(drop, "_own_files", overtaken)
    catalog.purge_table("db.t")
    assert files(tmp_path / "wh") == set()


def test_a_purge_keeps_the_metadata_of_another_registration(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    """Both have one UUID, and the later files of each are in one folder."""
    table = filled(catalog, 1)
    catalog.register_table("db.u", table.metadata_location)
    for number in range(2):
        table.update_properties().set({"n": str(number)}).commit()
    other = catalog.load_table("db.u")
    other.update_properties().set({"owner": "me"}).commit()
    catalog.purge_table("db.t")
    assert Path(other.metadata_location).exists()
    assert catalog.load_table("db.u").properties["owner"] == "me"
    assert not Path(table.metadata_location).exists()


def test_a_purge_of_a_broken_table_keeps_the_metadata_of_another_registration(
    catalog: TableCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = filled(catalog, 1)
    catalog.register_table("db.u", table.metadata_location)
    other = catalog.load_table("db.u")
    other.append(rows(id=[2], k=["b"]))

    def broken(*_: Any) -> Any:
        raise CorruptFileError("broken")

    with monkeypatch.context() as patch:
        patch.setattr(drop, "manifests_of", broken)
        catalog.purge_table("db.t")
    assert ids(catalog.load_table("db.u")) == [1, 2]


def test_a_purge_takes_metadata_that_is_elsewhere(catalog: TableCatalog, tmp_path: Path) -> None:
    table = filled(catalog, 1, **{"write.metadata.path": str(tmp_path / "far")})
    (tmp_path / "far" / "notes.metadata.json").write_text("{}")
    table.append(rows(id=[2], k=["b"]))
    catalog.purge_table("db.t")
    assert files(tmp_path / "wh") == set()
    assert files(tmp_path / "far") == {str(tmp_path / "far" / "notes.metadata.json")}


def test_a_table_takes_the_folder_of_a_dropped_view(
    catalog: TableCatalog, views: Views, tmp_path: Path
) -> None:
    base = views.create("db.t", new("SELECT 1"))
    views.replace("db.t", base, new("SELECT 2"))
    views.drop("db.t")
    table = filled(catalog, 1)
    make_old(tmp_path / "wh")
    assert table.maintenance.remove_orphan_files().orphan_file_locations == ()


def test_a_purge_keeps_a_renamed_view(catalog: TableCatalog, views: Views, tmp_path: Path) -> None:
    renamed_view(views)
    kept = files(tmp_path / "wh")
    filled(catalog, 1)
    catalog.purge_table("db.t")
    assert files(tmp_path / "wh") == kept
    assert catalog.load_view("db.v").sql_for() == "SELECT 1"


def test_a_folder_whose_files_can_not_be_read_may_be_shared(
    catalog: TableCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(catalog, 1)
    catalog.rename_table("db.t", "db.u")
    other = catalog.load_table("db.u").metadata_location
    filled(catalog, 2)
    own = FsspecIO.read_bytes

    def read(self: FsspecIO, path: str) -> bytes:
        if path == other:
            raise StorageError("no answer")
        return own(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(FsspecIO, "read_bytes", read)
        catalog.purge_table("db.t")
    assert ids(catalog.load_table("db.u")) == [1]


def test_old_metadata_of_the_table_itself_goes_with_it(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    table = filled(catalog, 1, **{"write.metadata.previous-versions-max": "1"})
    for number in range(3):
        table.update_properties().set({"n": str(number)}).commit()
    (tmp_path / "wh/db/t/metadata/00000-broken.metadata.json").write_text("{")
    catalog.purge_table("db.t")
    assert {Path(path).name for path in files(tmp_path / "wh")} == {"00000-broken.metadata.json"}


def test_a_renamed_view_is_no_orphan(catalog: TableCatalog, views: Views, tmp_path: Path) -> None:
    renamed_view(views)
    table = filled(catalog, 1)
    make_old(tmp_path / "wh")
    before = files(tmp_path / "wh")
    with pytest.raises(ValidationException, match="another table or a view"):
        table.maintenance.remove_orphan_files()
    assert files(tmp_path / "wh") == before


def test_a_table_of_low_numbers_is_seen_among_many_orphans(
    catalog: TableCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old metadata files of the table itself may be many, and of higher numbers."""
    filled(catalog, 1)
    catalog.rename_table("db.t", "db.u")
    table = filled(catalog, 2)
    newest = Path(table.metadata_location)
    for number in range(100, 350):
        newest.with_name(f"{number:05d}-x.metadata.json").write_bytes(newest.read_bytes())
    make_old(tmp_path / "wh")
    with pytest.raises(ValidationException, match="another table"):
        table.maintenance.remove_orphan_files()
    catalog.purge_table("db.t")
    assert ids(catalog.load_table("db.u")) == [1]
