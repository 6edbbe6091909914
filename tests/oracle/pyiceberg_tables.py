"""PyIceberg on Hadoop tables: reads any of them, and commits in the `v<N>.metadata.json` manner.

PyIceberg ships no catalog for file-system tables; `HadoopTables` is the least of one, so that
PyIceberg goes on writing the very table that Java or the product wrote. It takes no locks.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import load_file_io
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import CommitTableResponse, StaticTable, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata


class HadoopTables(NoopCatalog):
    """A catalog of locations: the identifier is ("location", <path>)."""

    def load_table(self, identifier: str | tuple[str, ...]) -> Table:
        path = identifier[-1]
        static = StaticTable.from_metadata(path)
        return _table(self, path, static.metadata, static.metadata_location)

    def commit_table(
        self,
        table: Table,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> CommitTableResponse:
        base = self.load_table(table.name())
        for requirement in requirements:
            requirement.validate(base.metadata)
        metadata = update_table_metadata(base.metadata, updates, enforce_validation=False)
        version = int(Path(base.metadata_location).name.split(".")[0].removeprefix("v")) + 1
        written = _write(table.name()[-1], version, metadata)
        return CommitTableResponse(metadata=metadata, metadata_location=written)


def _table(catalog: Catalog, path: str, metadata: TableMetadata, written: str) -> Table:
    return Table(("location", path), metadata, written, load_file_io(), catalog)


def _write(path: str, version: int, metadata: TableMetadata) -> str:
    folder = Path(path) / "metadata"
    folder.mkdir(parents=True, exist_ok=True)
    written = f"{folder}/v{version}.metadata.json"
    ToOutputFile.table_metadata(metadata, load_file_io().new_output(written))
    (folder / "version-hint.text").write_text(str(version))
    # Java's local file system checks the hint against this file, which PyIceberg does not know.
    (folder / ".version-hint.text.crc").unlink(missing_ok=True)
    return written


def create(
    path: str,
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
    **properties: Any,
) -> Table:
    """Create an empty table at `path`; property names are written with `_` for `-`."""
    named = {key.replace("_", "-"): value for key, value in properties.items()}
    metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, path, named)
    return _table(HadoopTables("location"), path, metadata, _write(path, 1, metadata))


def load(path: str) -> Table:
    """Load the table at `path` for reading and writing."""
    return HadoopTables("location").load_table(("location", path))


def read(path: str) -> pa.Table:
    """Read the current rows."""
    return load(path).scan().to_arrow()
