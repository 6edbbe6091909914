"""Views: queries that a catalog keeps under a name (Iceberg View Spec, REST specification)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.schema import Schema

SQL = "sql"
SPARK_DIALECT = "spark"
QUERY_COLUMN_NAMES = "spark.query-column-names"
"""Property: the columns of the text itself, joined by commas, as Java's catalog of Spark has it."""
TRINO_DIALECT = "trino"
TRINO_CATALOG = "view.trino-catalog"
"""Property: the name of the view's catalog in Trino. A view with it also gets a text for Trino."""
DROP_DIALECT_ALLOWED = "replace.drop-dialect-allowed"


@dataclass(frozen=True, slots=True)
class ViewRepresentation:
    """One form of a view's query; for unknown kinds `sql` and `dialect` are empty."""

    sql: str
    dialect: str
    type: str = SQL


@dataclass(frozen=True, slots=True)
class ViewVersion:
    """One definition of a view.

    Names in its text that have no catalog, or no namespace, use the defaults; no default catalog
    means the view's own. `timestamp_ms` is ms since the epoch.
    """

    version_id: int
    timestamp_ms: int
    schema_id: int
    representations: tuple[ViewRepresentation, ...]
    default_namespace: tuple[str, ...]
    default_catalog: str | None = None
    summary: Mapping[str, str] = field(default_factory=dict)

    @property
    def dialects(self) -> tuple[str, ...]:
        """The dialects of its SQL texts."""
        return tuple(
            representation.dialect
            for representation in self.representations
            if representation.type == SQL
        )

    def sql_for(self, dialect: str) -> str | None:
        """Return the text in a dialect, ignoring case; None if there is none."""
        for representation in self.representations:
            if representation.type == SQL and representation.dialect.lower() == dialect.lower():
                return representation.sql
        return None


@dataclass(frozen=True, slots=True)
class ViewHistoryEntry:
    """When a version became the current one, in milliseconds since 1970 in UTC."""

    timestamp_ms: int
    version_id: int


@dataclass(frozen=True, slots=True)
class ViewMetadata:
    """A view as its catalog has it."""

    view_uuid: str
    location: str
    current_version_id: int
    versions: tuple[ViewVersion, ...]
    version_log: tuple[ViewHistoryEntry, ...]
    schemas: tuple[Schema, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    format_version: int = 1

    @property
    def current_version(self) -> ViewVersion:
        """Its definition. Raises CorruptFileError if it is missing."""
        for version in self.versions:
            if version.version_id == self.current_version_id:
                return version
        raise CorruptFileError(f"The view has no version {self.current_version_id}")

    @property
    def schema(self) -> Schema:
        """The columns of its current version. Raises CorruptFileError if they are missing."""
        schema_id = self.current_version.schema_id
        for schema in self.schemas:
            if schema.schema_id == schema_id:
                return schema
        raise CorruptFileError(f"The view has no schema {schema_id}")


@dataclass(frozen=True, slots=True)
class NewView:
    """The definition of a view to create or change: columns, text, and properties to set.

    The version's ids are provisional: creating or replacing the view assigns them.
    `location` is the new location of its files; None is the catalog's default or no change.
    """

    schema: Schema
    version: ViewVersion
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None

    def is_in(self, view: ViewMetadata) -> bool:
        """Return whether this very definition is one of the view's, now or before."""
        own = self.version
        return any(
            version.timestamp_ms == own.timestamp_ms
            and version.sql_for(SPARK_DIALECT) == own.sql_for(SPARK_DIALECT)
            for version in view.versions
        )

    def same_version_in(self, view: ViewMetadata) -> ViewVersion | None:
        """Return the view's version that is equal except for its time and ids.

        A server may add to the summary.
        """
        own, schema_id = self.version, self.same_schema_in(view)
        for version in view.versions:
            here = replace(
                own,
                version_id=version.version_id,
                timestamp_ms=version.timestamp_ms,
                schema_id=-1 if schema_id is None else schema_id,
                summary={**version.summary, **own.summary},
            )
            if here == version:
                return version
        return None

    def same_schema_in(self, view: ViewMetadata) -> int | None:
        """Return the id of the view's schema that has the same columns, None without one."""
        own = self.schema
        for schema in view.schemas:
            if (schema.fields, schema.identifier_field_ids) == (
                own.fields,
                own.identifier_field_ids,
            ):
                return schema.schema_id
        return None
