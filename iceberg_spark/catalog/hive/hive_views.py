"""Views in a Hive metastore (Java: HiveViewOperations)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.catalog.hive.hive_changes import (
    create_hive_table,
    database_of,
    drop_hive_table,
    move_pointer,
    rename_hive_table,
    split_name,
    table_names,
    table_of,
)
from iceberg_spark.catalog.hive.hive_table import (
    CURRENT_SCHEMA,
    ICEBERG_VIEW,
    METADATA_LOCATION,
    OWNER,
    PREVIOUS_LOCATION,
    TABLE_TYPE,
    VIRTUAL,
    empty_table,
    is_view,
    java_json,
    largest,
    place_of,
    storage,
)
from iceberg_spark.catalog.hive.lock import Locks
from iceberg_spark.catalog.hive.metastore import Metastore
from iceberg_spark.catalog.table_name import has_two_parts
from iceberg_spark.catalog.view_file import StoredView
from iceberg_spark.errors import NoSuchNamespaceError, NoSuchViewError, ViewAlreadyExistsError
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.view import SQL, ViewMetadata

_HIVE = "hive"


class HiveViews:
    """Hive's view has the location of the newest metadata file (implements `ViewPointers`)."""

    __slots__ = ("_default_location", "_locks", "_metastore", "_name", "_properties")

    def __init__(
        self,
        name: str,
        properties: Mapping[str, str],
        metastore: Metastore,
        locks: Locks,
        default_location: Callable[[str], str],
    ) -> None:
        """`default_location` returns the location of a new view."""
        self._name = name
        self._properties = properties
        self._metastore = metastore
        self._locks = locks
        self._default_location = default_location

    def list_views(self, namespace: Name) -> list[Name]:
        """Return the views in a namespace. Raises NoSuchNamespaceError."""
        if len(namespace) != 1:
            raise NoSuchNamespaceError(f"{'.'.join(namespace)}: Hive has databases of one level")
        with self._metastore.session() as session:
            database = database_of(session, self._name, namespace[0].lower()).name
            return [(*namespace, name) for name in table_names(session, database, is_view)]

    def find(self, identifier: str) -> str | None:
        """Return the location of a view's newest metadata file, None if there is no view."""
        if not has_two_parts(identifier):
            return None
        with self._metastore.session() as session:
            view = table_of(session, *split_name(identifier))
        return None if view is None else _pointer_of(view)

    def insert(self, new: StoredView) -> bool:
        """Add a view; False if a view or table has its name.

        Raises NoSuchNamespaceError, UnsupportedError (what the metastore refused).
        """
        owner = new.metadata.properties.get(OWNER, self._metastore.user)
        view = empty_table(*split_name(new.identifier), owner, VIRTUAL)
        self._describe(view, None, new)
        with self._metastore.session() as session:
            return create_hive_table(session, self._name, view)

    def move(self, base: StoredView, changed: StoredView) -> bool:
        """Move a view's pointer; False if it is not at `base`.

        Raises CommitFailedException (others hold the lock), StorageError, UnsupportedError.
        """
        name, before = split_name(changed.identifier), base.metadata_location
        with self._metastore.session() as session:
            lock = self._locks.of(session, name, {})
            tell = partial(self._describe, base=base, changed=changed)
            return move_pointer(session, lock, name, before, _pointer_of, tell)

    def remove(self, identifier: str, metadata_location: str) -> bool:
        """Remove a view; False if no view is at the metadata file `metadata_location`."""
        with (
            self._metastore.session() as session,
            self._locks.held(session, split_name(identifier)),
        ):
            return drop_hive_table(
                session, split_name(identifier), lambda view: _pointer_of(view) == metadata_location
            )

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a view under its lock.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        to = split_name(new_identifier)
        with self._metastore.session() as session:
            database_of(session, self._name, to[0])
            done = rename_hive_table(session, self._locks, split_name(identifier), to, _pointer_of)
        if done is None:
            raise NoSuchViewError(f"No view {identifier} in catalog '{self._name}'")
        if not done:
            raise ViewAlreadyExistsError(f"{new_identifier} is in catalog '{self._name}' already")

    def default_location(self, identifier: str) -> str:
        """Return the location of a new view: the one of a table of this name."""
        return self._default_location(identifier)

    def _describe(self, view: Any, base: StoredView | None, changed: StoredView) -> None:
        """Describe a changed view in Hive's view; entries of other writers stay."""
        metadata = changed.metadata
        view.sd = storage(metadata.schema, metadata.location, False, self._properties)
        view.viewOriginalText = view.viewExpandedText = _text_of(metadata)
        parameters = dict(view.parameters or {})
        if base is not None:
            for key in base.metadata.properties.keys() - metadata.properties.keys():
                parameters.pop(key, None)
            parameters[PREVIOUS_LOCATION] = base.metadata_location
        parameters |= {
            key: value for key, value in metadata.properties.items() if key.lower() != OWNER
        }
        parameters |= {
            "uuid": metadata.view_uuid,
            TABLE_TYPE: ICEBERG_VIEW,
            METADATA_LOCATION: changed.metadata_location,
        }
        parameters.pop("storage_handler", None)
        parameters.pop(CURRENT_SCHEMA, None)
        schema = java_json(schema_to_dict(metadata.schema)) or ""
        if len(schema) <= largest(self._properties):
            parameters[CURRENT_SCHEMA] = schema
        view.parameters = parameters


def _text_of(view: ViewMetadata) -> str | None:
    """Return the query that Hive shows: the one in its dialect, else the first."""
    texts = [
        representation.sql
        for representation in view.current_version.representations
        if representation.type == SQL
    ]
    return view.current_version.sql_for(_HIVE) or next(iter(texts), None)


def _pointer_of(view: Any) -> str | None:
    return place_of(view) if is_view(view) else None
