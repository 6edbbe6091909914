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
DROP_DIALECT_ALLOWED = "replace.drop-dialect-allowed"


@dataclass(frozen=True, slots=True)
class ViewRepresentation:
    """One form of a view's query; of a kind that we don't know `sql` and `dialect` are empty."""

    sql: str
    dialect: str
    type: str = SQL


@dataclass(frozen=True, slots=True)
class ViewVersion:
    """One definition of a view.

    Names in its text that have no catalog, or no namespace, have the defaults; no default catalog
    stands for the view's own. `timestamp_ms` is since 1970 in UTC.
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
        """The dialects of its texts in SQL."""
        return tuple(one.dialect for one in self.representations if one.type == SQL)

    def sql_for(self, dialect: str) -> str | None:
        """Return the text in a dialect, whatever its case; None without one."""
        for one in self.representations:
            if one.type == SQL and one.dialect.lower() == dialect.lower():
                return one.sql
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
        """Its definition. Raises CorruptFileError where that is missing."""
        for one in self.versions:
            if one.version_id == self.current_version_id:
                return one
        raise CorruptFileError(f"The view has no version {self.current_version_id}")

    @property
    def schema(self) -> Schema:
        """The columns of its current version. Raises CorruptFileError where they are missing."""
        wanted = self.current_version.schema_id
        for one in self.schemas:
            if one.schema_id == wanted:
                return one
        raise CorruptFileError(f"The view has no schema {wanted}")


@dataclass(frozen=True, slots=True)
class NewView:
    """What a view is to be: its columns and text, and properties that are set.

    The version's ids are provisional: they are given when it is created, or replaces another.
    `location` is where its files go from now on; None leaves that to the catalog, or as it is.
    """

    schema: Schema
    version: ViewVersion
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None

    def is_in(self, view: ViewMetadata) -> bool:
        """Return whether this very definition is one of the view's, now or before."""
        own = self.version
        return any(
            one.timestamp_ms == own.timestamp_ms
            and one.sql_for(SPARK_DIALECT) == own.sql_for(SPARK_DIALECT)
            for one in view.versions
        )

    def same_version_in(self, view: ViewMetadata) -> ViewVersion | None:
        """Return the version of the view that is the same but for its time and ids.

        A server may add to the summary.
        """
        own, schema_id = self.version, self.same_schema_in(view)
        for one in view.versions:
            here = replace(
                own,
                version_id=one.version_id,
                timestamp_ms=one.timestamp_ms,
                schema_id=-1 if schema_id is None else schema_id,
                summary={**one.summary, **own.summary},
            )
            if here == one:
                return one
        return None

    def same_schema_in(self, view: ViewMetadata) -> int | None:
        """Return the id of the view's schema that has the same columns, None without one."""
        own = self.schema
        for one in view.schemas:
            if (one.fields, one.identifier_field_ids) == (own.fields, own.identifier_field_ids):
                return one.schema_id
        return None
