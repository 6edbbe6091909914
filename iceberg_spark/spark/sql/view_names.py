"""How names in a view's text are resolved: by the view's own defaults, not the session's."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import SparkSession
from sqlglot import exp

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.session.session_catalogs import has_spark_catalog, is_ours
from iceberg_spark.spark.sql.references import Node, TableReference, hidden_table
from iceberg_spark.spec.view import SPARK_DIALECT, ViewMetadata

_SPARKS_OWN = "spark_catalog"
_MOST_NESTED = 100  # Spark: spark.sql.view.maxNestedViewDepth


def spark_text(view: ViewMetadata, name: str) -> str:
    """Return a view's text for Spark. Raises UnsupportedError naming the dialects that exist."""
    version = view.current_version
    text = version.sql_for(SPARK_DIALECT)
    if text is None:
        dialects = ", ".join(version.dialects) or "none"
        raise UnsupportedError(f"View {name} has no text for Spark; dialects it has: {dialects}")
    return text


@dataclass(frozen=True, slots=True)
class ViewNames:
    """The names of one view's text (Java: ResolveViews).

    An unqualified name is in the default catalog and namespace. A name that begins with no
    catalog is in the default catalog. Temporary views are not visible. `path` are the views that
    led here, this one last.
    """

    catalog: Catalog
    default_catalog: str
    default_namespace: tuple[str, ...]
    path: tuple[str, ...]

    @property
    def view(self) -> str:
        """The view's own name."""
        return self.path[-1]

    def check_path(self) -> None:
        """Raise InvalidInputError for a view that reads itself, or is nested too deeply."""
        shown = " -> ".join(self.path[-5:])
        if self.view in self.path[:-1]:
            raise InvalidInputError(f"View {self.view} is made of itself: {shown}")
        if len(self.path) > _MOST_NESTED:
            raise InvalidInputError(f"Views are nested more than {_MOST_NESTED} deep: {shown}")

    def check_text(self, tree: Node, text: str, dialect: Dialect) -> None:
        """Raise InvalidInputError if only Spark would see a table, and resolve it its own way."""
        hidden = hidden_table(text, dialect)
        if hidden is not None:
            raise InvalidInputError(
                f"View {self.view} names a table by {hidden}: say FROM, or quote a column's name"
            )
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Anonymous) and table.this.name.upper() == "IDENTIFIER":
                raise InvalidInputError(f"View {self.view} names a table by IDENTIFIER(...)")

    def qualified(self, reference: TableReference, spark: SparkSession) -> TableReference:
        """Return a reference with its full name, the catalog first.

        Raises InvalidInputError for a location, and for a catalog that is not configured.
        """
        parts = reference.parts
        if any("/" in part for part in parts):
            raise InvalidInputError(
                f"View {self.view} names the location {reference.name}: in views tables are named "
                "by catalogs"
            )
        if len(parts) == 1:
            parts = (self.default_catalog, *self.default_namespace, *parts)
        elif not self._is_catalog(parts[0], spark):
            parts = (self.default_catalog, *parts)
        if not self._is_catalog(parts[0], spark):
            raise InvalidInputError(
                f"View {self.view} reads {'.'.join(parts)}, and no catalog {parts[0]} is known "
                "here: configure it under this name"
            )
        return replace(reference, parts=parts)

    def _is_catalog(self, name: str, spark: SparkSession) -> bool:
        return (
            name in (self.catalog.name, _SPARKS_OWN)
            or is_ours(spark, name)
            or has_spark_catalog(spark, name)
        )
