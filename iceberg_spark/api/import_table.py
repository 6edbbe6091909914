"""Create tables from folders of existing files: with metadata elsewhere, or in the same folder."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iceberg_spark.api.progress import working
from iceberg_spark.api.schema_input import SchemaInput, as_schema
from iceberg_spark.api.table import Table
from iceberg_spark.catalog.catalog import Catalog, NewTable
from iceberg_spark.catalog.chosen_location import chosen_location, new_table_properties
from iceberg_spark.catalog.foreign_folder import check_free
from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.catalog.table_name import TableName, property_texts
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.commit import CleanupOnFailure, CommitState, commit
from iceberg_spark.commits.create_table import DropOnFailure
from iceberg_spark.commits.metadata_changes import set_name_mapping
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import active_session, session_settings, session_time_zone
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, UnsupportedError
from iceberg_spark.io import location as locations
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.places import Places
from iceberg_spark.save.added_files import files_to_add, import_options
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.format_version import check_writable_version
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.sort import UNSORTED
from iceberg_spark.spec.transform_text import parse_partition_spec
from iceberg_spark.spec.updates import TableUpdate
from iceberg_spark.write.hive_folder import HiveFolder, hive_folder
from iceberg_spark.write.import_folder import ALL, check_same_files

_SNAPSHOT = {"gc.enabled": "false", "snapshot": "true"}
_MIGRATED = {"migrated": "true"}


def snapshot(
    source: str,
    target: TableName,
    *,
    schema: SchemaInput | None = None,
    properties: Mapping[str, object] | None = None,
    location: str | None = None,
    spark: on_spark.SparkSession | None = None,
    **storage: object,
) -> Table:
    """Create a table of the files of a folder or of a Spark table, which stay unchanged.

    The files are Parquet, ORC or Avro. The columns of a Hive-style folder (`column=value`) become
    partitions. The new table shares the files and never deletes them (`gc.enabled` is false).

    Args:
        source: A folder, or the name of a Spark table.
        target: The location of the new table, or its name "cat.db.tbl".
        schema: By default that of the Spark table, otherwise what the session's reader or the files
            say.
        properties: Properties of the new table.
        location: Where its own files go; by default where its catalog puts tables.
        spark: By default the active session.
        **storage: Storage or catalog properties.

    Raises:
        InvalidInputError: Source and target overlap.
        InvalidSchemaError: A file does not fit.
        TableAlreadyExistsError: The target exists.

    Examples:
        >>> ice.snapshot("/data/visits", "/data/trial")
    """
    catalog, identifier = resolve(
        target, with_settings(target, property_texts(storage), session_settings)
    )
    session = active_session() if spark is None else spark
    table = None if locations.is_absolute(source) else on_spark.source_table(source, session)
    folder = source if table is None else table.folder
    texts = {**(properties or {}), **_SNAPSHOT}
    new_location = None if location is None else chosen_location(catalog, identifier, location)
    importer = _Import(catalog, identifier, folder, schema, texts, table, new_location)
    with working(f"Taking in {folder}"):
        return importer.create(session, keeps_source=True)


def migrate(
    source: str,
    *,
    schema: SchemaInput | None = None,
    properties: Mapping[str, object] | None = None,
    spark: on_spark.SparkSession | None = None,
    **storage: object,
) -> Table:
    """Create a table in a folder of files; the files belong to the table from then on.

    They are Parquet, ORC or Avro. Nothing is copied: metadata goes to its folder `metadata`. A
    Spark table cannot be migrated by name, because Spark's own catalog would still have its folder:
    pass the folder, and drop the external table.

    Args:
        source: The folder.
        schema: By default what the session's reader or the files say.
        properties: Properties of the new table.
        spark: By default the active session.
        **storage: Storage or catalog properties.

    Raises:
        UnsupportedError: `source` is a name.
        InvalidInputError: The folder has no such files, or something that a table must not have.
        TableAlreadyExistsError: The folder is a table.

    Examples:
        >>> ice.migrate("/data/visits")
    """
    if not locations.is_absolute(source):
        raise UnsupportedError(
            f"'{source}' can't be migrated by name: Spark's own catalog can't hold the table then. "
            "Migrate its folder, ice.migrate('/path/of/the/table'), or ice.snapshot it"
        )
    catalog, identifier = resolve(
        source, with_settings(source, property_texts(storage), session_settings)
    )
    session = active_session() if spark is None else spark
    importer = _Import(catalog, identifier, source, schema, {**(properties or {}), **_MIGRATED})
    with working(f"Taking in {source}"):
        return importer.create(session, keeps_source=False)


@dataclass(frozen=True, slots=True)
class _Import:
    catalog: Catalog
    identifier: str
    folder: str
    schema: SchemaInput | None
    properties: Mapping[str, object]
    table: on_spark.SourceTable | None = None
    location: str | None = None

    def create(self, session: Any, *, keeps_source: bool) -> Table:
        """Create the table with its files by one commit."""
        texts = new_table_properties(self.catalog.properties, property_texts(self.properties))
        version = check_writable_version(texts)
        io = self.catalog.io(self.folder)
        if self.table is not None:
            check_same_files(io, self.folder, self.table.files, self.table.name)
        source = hive_folder(io, self.folder)
        columns = self._columns(source, session)
        schema = as_schema(columns, format_version=version)
        spec = parse_partition_spec([f"`{name}`" for name in source.partitions], schema)

        def creation(default_location: str) -> tuple[TableUpdate, ...]:
            location = self.location or default_location
            return new_table_updates(schema, spec, UNSORTED, location=location, properties=texts)

        new = self.catalog.stage(self.identifier, creation)
        with (
            CleanupOnFailure(new.io, ()) as commit_state,
            DropOnFailure(self.catalog, self.identifier, new.ours, commit_state),
        ):
            return self._filled(
                new, io, session, keeps_source=keeps_source, commit_state=commit_state
            )

    def _columns(self, source: HiveFolder, session: Any) -> SchemaInput:
        """Return the caller's schema, else Spark's, else that of the files."""
        if self.schema is not None:
            return self.schema
        provider = None if session is None else self._provider(source.file_format)
        read = None
        if provider is not None:
            read = on_spark.folder_schema(self.folder, provider, session)
        if read is None and self.table is not None:
            raise InvalidSchemaError(
                f"Spark can't read the columns of the files of {self.table.name}: take in their "
                f"folder {self.folder} instead"
            )
        if read is None:
            source.check_types()
            return source.schema
        if self.table is not None:
            return on_spark.taken_schema(self.table, read, source.partitions)
        return read

    def _provider(self, file_format: FileFormat | None) -> str | None:
        """Return Spark's reader of the folder; None for Avro, which a session may lack."""
        if self.table is not None:
            return self.table.provider
        if file_format is None or file_format is FileFormat.AVRO:
            return None
        return file_format.lower()

    def _filled(
        self,
        new: NewTable,
        io: FileIO,
        session: Any,
        *,
        keeps_source: bool,
        commit_state: CommitState,
    ) -> Table:
        check_free(new.io, new.location, requested=True)
        if keeps_source:
            _check_apart(self.folder, new.location)
        metadata = apply(None, new.updates, now_ms=int(time.time() * 1000))
        options = import_options(metadata, None, ALL.parallelism, session_time_zone(session))
        imported = files_to_add(metadata, io, self.folder, options)
        actions: list[Any] = [AppendFiles(imported.files)]
        if imported.name_mapping is not None:
            actions.insert(0, set_name_mapping(imported.name_mapping))
        loaded = commit(
            self.catalog, self.identifier, actions, None, creation=new, commit_state=commit_state
        )
        return Table(self.catalog, loaded)


def _check_apart(source: str, target: str) -> None:
    """Refuse to mix two tables' files (Java: "would overlap with source table location")."""
    places = Places()
    source_folder, target_folder = f"{places.folder(source)}/", f"{places.folder(target)}/"
    if source_folder.startswith(target_folder) or target_folder.startswith(source_folder):
        raise InvalidInputError(
            f"The table can't be at {target}: it overlaps with the source {source}, whose files "
            "would be mixed with its own. Choose another location, or ice.migrate the folder"
        )
