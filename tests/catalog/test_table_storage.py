"""A table's files are opened through the storage that its catalog gave with it."""

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.memory import MemoryCatalog, memory_catalog
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.io import location
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.unit.api.tables import files_below, ids, rows

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


class Noting(FsspecIO):
    """Storage that notes what is made through it."""

    __slots__ = ()
    made: set[str] = set()  # noqa: RUF012 (of all copies)

    def create(self, path: str) -> BinaryIO:
        self.made.add(location.strip_scheme(path))
        return super().create(path)


class Vending(PointerCatalog):
    """A catalog that gives each table storage of its own."""

    __slots__ = ()

    def __init__(self, name: str, warehouse: Path) -> None:
        pointers = MemoryCatalog(name, str(warehouse))
        super().__init__(name, {}, pointers, None, memory_catalog)

    def load(self, identifier: str) -> LoadedTable:
        return replace(super().load(identifier), io=Noting())


def test_every_file_of_a_change_is_made_through_the_tables_own_storage(tmp_path: Path) -> None:
    catalog = TableCatalog(Vending(tmp_path.name, tmp_path))
    catalog.create_table("db.t", "id bigint, k string", properties=MERGE_ON_READ)
    table = catalog.load_table("db.t")
    table.append(rows(id=[1, 2, 3], k=["a", "b", "c"]))
    table.delete("id = 2")
    table.upsert(rows(id=[3], k=["x"]), keys=["id"])
    assert ids(table) == [1, 3]
    below = {str(tmp_path / name) for name in files_below(tmp_path)}
    assert {path for path in below if not path.endswith(".json")} == Noting.made
