"""Views on a server (implements `Views`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from iceberg_spark.catalog.catalog import Name
from iceberg_spark.catalog.rest import paths as p
from iceberg_spark.catalog.rest.answers import (
    NEW_VIEW,
    RENAMED_VIEW,
    VIEW,
    Answer,
    LostAnswerError,
    given_by_server,
)
from iceberg_spark.catalog.rest.changes import Change, change_request, make
from iceberg_spark.catalog.rest.session import RestSession, pages
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.errors import NoSuchViewError
from iceberg_spark.io import location
from iceberg_spark.spec.next_view import check_dialects
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.view import NewView, ViewMetadata
from iceberg_spark.spec.view_json import version_to_dict, view_from_dict


class RestViews:
    """Views of one catalog."""

    __slots__ = ("_name", "_session")

    def __init__(self, name: str, session: RestSession) -> None:
        self._name = name
        self._session = session

    def list_views(self, namespace: Name) -> list[Name]:
        """Return the views in a namespace. Raises NoSuchNamespaceError."""
        paths = self._session.paths
        paths.need(p.LIST_VIEWS)
        what = f"list the views of namespace {'.'.join(namespace)} of catalog '{self._name}'"
        path = paths.namespace(namespace, "views")
        members = pages(self._session, path, {}, "identifiers", what)
        return [(*map(str, member["namespace"]), str(member["name"])) for member in members]

    def exists(self, identifier: str) -> bool:
        """Return whether the view exists."""
        paths = self._session.paths
        try:
            if not paths.has(p.VIEW_EXISTS):
                self.load(identifier)
                return True
            request = Request("HEAD", paths.view(identifier))
            self._session.read(request, VIEW, self._what("look for", identifier), lambda _: None)
        except NoSuchViewError:
            return False
        return True

    def load(self, identifier: str) -> ViewMetadata:
        """Load a view, in one request. Raises NoSuchViewError."""
        paths = self._session.paths
        paths.need(p.LOAD_VIEW)
        request = Request("GET", paths.view(identifier))
        return self._session.read(
            request, VIEW, self._what("load", identifier), partial(_view_of, identifier)
        )

    def create(self, identifier: str, view: NewView) -> ViewMetadata:
        """Create a view. Raises ViewAlreadyExistsError, NoSuchNamespaceError."""
        paths = self._session.paths
        paths.need(p.CREATE_VIEW)
        namespace, name = p.split_name(identifier)
        body = {
            "name": name,
            **({} if view.location is None else {"location": view.location}),
            "schema": schema_to_dict(view.schema),
            "view-version": version_to_dict(view.version),
            "properties": dict(view.properties),
        }
        request = change_request(self._session, "POST", paths.namespace(namespace, "views"), body)

        def is_made() -> bool:
            """Compare the definition alone: a server sets the time of the first version."""
            try:
                now = self.load(identifier)
            except NoSuchViewError:
                return False
            return _lies_there(view, now) and view.same_version_in(now) == now.current_version

        change = Change(request, NEW_VIEW, self._what("create", identifier), is_made)
        return self._changed(identifier, change)

    def replace(self, identifier: str, base: ViewMetadata, view: NewView) -> ViewMetadata:
        """Replace a view's definition; earlier versions stay in its history.

        Raises:
            NoSuchViewError: there is no view of this name.
            CommitFailedException: the name belongs to another view now.
            ValidationException: a query in another dialect would be lost.
        """
        paths = self._session.paths
        paths.need(p.REPLACE_VIEW)
        body: dict[str, Any] = {"identifier": p.table_node(identifier), **replacing(base, view)}
        request = change_request(self._session, "POST", paths.view(identifier), body)

        def is_made() -> bool:
            now = self.load(identifier)
            if view.is_in(now):
                return True
            return _lies_there(view, now) and view.same_version_in(now) == now.current_version

        change = Change(request, VIEW, self._what("replace", identifier), is_made)
        return self._changed(identifier, change)

    def update_properties(
        self, identifier: str, base: ViewMetadata, updates: Mapping[str, str], removals: Name
    ) -> None:
        """Set and remove properties of a view.

        Raises NoSuchViewError, CommitFailedException (the name belongs to another view now).
        """
        paths = self._session.paths
        paths.need(p.REPLACE_VIEW)
        changed = changing_properties(base, updates, removals)
        body: dict[str, Any] = {"identifier": p.table_node(identifier), **changed}
        request = change_request(self._session, "POST", paths.view(identifier), body)

        def is_made() -> bool:
            now = self.load(identifier).properties
            return updates.items() <= now.items() and not now.keys() & set(removals)

        self._changed(identifier, Change(request, VIEW, self._what("alter", identifier), is_made))

    def drop(self, identifier: str) -> None:
        """Remove a view. Raises NoSuchViewError."""
        paths = self._session.paths
        paths.need(p.DROP_VIEW)
        request = change_request(self._session, "DELETE", paths.view(identifier))
        what = self._what("drop", identifier)
        make(self._session, Change(request, VIEW, what, lambda: not self.exists(identifier)))

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a view.

        Raises NoSuchViewError, NoSuchNamespaceError, ViewAlreadyExistsError.
        """
        paths = self._session.paths
        paths.need(p.RENAME_VIEW)
        body = {"source": p.table_node(identifier), "destination": p.table_node(new_identifier)}
        request = change_request(self._session, "POST", paths.rename_view, body)

        def is_made() -> bool:
            return not self.exists(identifier) and self.exists(new_identifier)

        what = f"{self._what('rename', identifier)} to {new_identifier}"
        make(self._session, Change(request, RENAMED_VIEW, what, is_made))

    def _changed(self, identifier: str, change: Change) -> ViewMetadata:
        """Make a change and return the view, from the response or loaded."""
        answer = make(self._session, change)
        if answer is None:
            return self.load(identifier)
        try:
            return _view_of(identifier, answer)
        except LostAnswerError:  # created, but the response is cut off
            return self.load(identifier)

    def _what(self, doing: str, identifier: str) -> str:
        return f"{doing} view {identifier} of catalog '{self._name}'"


def _lies_there(view: NewView, now: ViewMetadata) -> bool:
    """Return whether a view is at the requested location: the move may be the whole change."""
    return view.location is None or location.same_file(view.location, now.location)


def _view_of(identifier: str, answer: Answer) -> ViewMetadata:
    metadata = answer.node().get("metadata")
    if not isinstance(metadata, dict):
        raise LostAnswerError("The catalog's answer holds no view metadata")
    with given_by_server(f"The catalog's metadata of view {identifier}"):
        return view_from_dict(metadata)


_LAST_ADDED = -1


def replacing(base: ViewMetadata, view: NewView) -> dict[str, Any]:
    """Return a CommitViewRequest. Raises ValidationException if it would lose a dialect."""
    check_dialects(base, view)
    updates: list[dict[str, Any]] = []
    if view.properties:
        updates.append({"action": "set-properties", "updates": dict(view.properties)})
    updates += _version_updates(base, view)
    if view.location not in (None, base.location):
        updates.append({"action": "set-location", "location": view.location})
    return {"requirements": _same(base), "updates": updates}


def changing_properties(
    base: ViewMetadata, updates: Mapping[str, str], removals: Iterable[str]
) -> dict[str, Any]:
    """Return a CommitViewRequest that sets and removes properties."""
    changes: list[dict[str, Any]] = []
    if updates:
        changes.append({"action": "set-properties", "updates": dict(updates)})
    gone = list(removals)
    if gone:
        changes.append({"action": "remove-properties", "removals": gone})
    return {"requirements": _same(base), "updates": changes}


def _same(base: ViewMetadata) -> list[dict[str, str]]:
    return [{"type": "assert-view-uuid", "uuid": base.view_uuid}]


def _version_updates(base: ViewMetadata, view: NewView) -> list[dict[str, Any]]:
    """Return the updates that add a version. An existing schema or version is named by its id.

    Servers do not add what they have already, so "the last one added" would not exist.
    """
    same = view.same_version_in(base)
    if same is not None:
        return [_set_current(same.version_id)]
    schema_id = view.same_schema_in(base)
    added = []
    if schema_id is None:
        newest = max((schema.schema_id for schema in base.schemas), default=-1) + 1
        schema = {**schema_to_dict(view.schema), "schema-id": newest}
        added.append({"action": "add-schema", "schema": schema})
    version = replace(
        view.version,
        version_id=max(existing.version_id for existing in base.versions) + 1,
        schema_id=_LAST_ADDED if schema_id is None else schema_id,
    )
    added.append({"action": "add-view-version", "view-version": version_to_dict(version)})
    return [*added, _set_current(_LAST_ADDED)]


def _set_current(version_id: int) -> dict[str, Any]:
    return {"action": "set-current-view-version", "view-version-id": version_id}
