"""Views for users, and their creation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from uuid import UUID

from iceberg_spark.catalog.catalog import Catalog, Name, Views
from iceberg_spark.engines import on_spark
from iceberg_spark.errors import (
    ColumnAlreadyExistsError,
    CommitFailedException,
    InvalidTypeError,
    NoSuchViewError,
    NotEnoughColumnsError,
    TooManyColumnsError,
    UnsupportedError,
    ViewAlreadyExistsError,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.view import (
    QUERY_COLUMN_NAMES,
    SPARK_DIALECT,
    TRINO_CATALOG,
    TRINO_DIALECT,
    NewView,
    ViewHistoryEntry,
    ViewMetadata,
    ViewRepresentation,
    ViewVersion,
)

_TRIES = 3
_SUMMARY = {"engine-name": "iceberg-spark"}


class View:
    """A view of a catalog, as it was loaded; `ice.sql` reads its rows by its name."""

    __slots__ = ("_identifier", "metadata")

    def __init__(self, identifier: str, metadata: ViewMetadata) -> None:
        self._identifier = identifier
        self.metadata = metadata

    def __repr__(self) -> str:
        return f"View({self._identifier})"

    def name(self) -> Name:
        """Return the view's name, as a tuple.

        Examples:
            >>> view.name()
        """
        return tuple(self._identifier.split("."))

    def schema(self) -> Schema:
        """Return the view's columns.

        Examples:
            >>> view.schema().column_names
        """
        return self.metadata.schema

    def sql_for(self, dialect: str = SPARK_DIALECT) -> str | None:
        """Return the view's text in a dialect of SQL, None without one.

        Args:
            dialect: A name such as "spark" or "trino".

        Examples:
            >>> view.sql_for("spark")
        """
        return self.metadata.current_version.sql_for(dialect)

    def current_version(self) -> ViewVersion:
        """Return the view's current definition.

        Examples:
            >>> view.current_version().version_id
        """
        return self.metadata.current_version

    @property
    def versions(self) -> list[ViewVersion]:
        """Its definitions, with the former ones that the metadata still has."""
        return list(self.metadata.versions)

    def history(self) -> list[ViewHistoryEntry]:
        """Return which version became current when.

        Examples:
            >>> [entry.version_id for entry in view.history()]
        """
        return list(self.metadata.version_log)

    @property
    def properties(self) -> dict[str, str]:
        """Its properties."""
        return dict(self.metadata.properties)

    def location(self) -> str:
        """Return the location of the view's metadata.

        Examples:
            >>> view.location()
        """
        return self.metadata.location

    def uuid(self) -> UUID:
        """Return its UUID, which other views of the same name do not have."""
        return UUID(self.metadata.view_uuid)


def views_of(catalog: Catalog) -> Views:
    """Return a catalog's views. Raises UnsupportedError if it has none."""
    views = catalog.views
    if views is None:
        raise UnsupportedError(
            f"Catalog '{catalog.name}' has no views; catalogs of type sql, hive and memory have, "
            "and of type rest where their server does"
        )
    return views


def new_view(
    spark: on_spark.SparkSession | None,
    catalog: Catalog,
    identifier: str,
    text: str,
    namespace: Name,
    columns: Sequence[str] | Mapping[str, str],
    properties: Mapping[str, str],
) -> NewView:
    """Return a view to create, with the columns that Spark finds in the query.

    Raises InvalidTypeError, InvalidInputError, InvalidSchemaError, and Spark's errors.
    """
    if not isinstance(text, str):
        raise InvalidTypeError(f"A view's query must be text, not {type(text).__name__}")
    text = text.strip().rstrip(";").rstrip()
    session = on_spark.needed_session(spark)
    analysed = on_spark.analysed_view(session, catalog, identifier, text, namespace)
    schema = _named(analysed.schema, analysed.names, columns)
    texts = [ViewRepresentation(text, SPARK_DIALECT)]
    trino_catalog = properties.get(TRINO_CATALOG)
    if trino_catalog:
        texts += _for_trino(
            partial(on_spark.text_for_trino, session, catalog, identifier, text, namespace),
            [field.name for field in schema.fields],
            trino_catalog,
        )
    engine = f"Spark {analysed.spark_version}"
    version = ViewVersion(
        1,
        int(time.time() * 1000),
        0,
        tuple(texts),
        namespace,
        summary=_SUMMARY,
    )
    return NewView(
        schema,
        version,
        {
            "create_engine_version": engine,
            "engine_version": engine,
            **properties,
            QUERY_COLUMN_NAMES: ",".join(analysed.names),
        },
    )


def _for_trino(
    translate: Callable[[Sequence[str], str], str], columns: Sequence[str], trino_catalog: str
) -> list[ViewRepresentation]:
    """Return the view's text for Trino; none with a warning if it would not be exact."""
    try:
        return [ViewRepresentation(translate(columns, trino_catalog), TRINO_DIALECT)]
    except UnsupportedError as reason:
        warnings.warn(f"The view gets no text for Trino: {reason}", stacklevel=4)
        return []


def _named(
    schema: Schema, queried: Sequence[str], columns: Sequence[str] | Mapping[str, str]
) -> Schema:
    """Return columns under the names, and with the comments, that they are to have.

    `queried` are their names in the query.
    """
    if isinstance(columns, str):
        raise InvalidTypeError("A view's columns are a list of names, or names with comments")
    names = list(columns or queried)
    if len(names) != len(queried):
        kind = TooManyColumnsError if len(queried) > len(names) else NotEnoughColumnsError
        raise kind(
            f"{len(names)} columns are named, and the query gives {len(queried)}: "
            f"{', '.join(queried)}"
        )
    docs = columns if isinstance(columns, Mapping) else {}
    fields = tuple(
        replace(field, name=name, doc=docs.get(name) or field.doc)
        for field, name in zip(schema.fields, names, strict=True)
    )
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            raise ColumnAlreadyExistsError(
                f"The view would have two columns {field.name}: name them"
            )
        seen.add(field.name.lower())
    return Schema(*fields)


def create_or_replace(views: Views, identifier: str, view: NewView) -> ViewMetadata:
    """Create a view, or give one that is there this definition; others may do so meanwhile.

    Raises ViewAlreadyExistsError (of a table), NoSuchNamespaceError, ValidationException.
    """
    for left in reversed(range(_TRIES)):
        try:
            try:
                base = views.load(identifier)
            except NoSuchViewError:
                return views.create(identifier, view)
            return views.replace(identifier, base, view)
        except (ViewAlreadyExistsError, NoSuchViewError, CommitFailedException):
            if not left:
                raise
    raise AssertionError
