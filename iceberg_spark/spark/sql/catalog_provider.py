"""The tables, views and namespaces of a catalog, as Spark's analyzer requests them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from iceberg_spark.catalog.catalog import LoadedTable, Namespaces
from iceberg_spark.catalog.table_name import joined_name
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
)
from iceberg_spark.inspect.pinned_inspection import pin_metadata_table
from iceberg_spark.read.changes_table import refuse_as_of
from iceberg_spark.scan.change_bounds import is_changes
from iceberg_spark.scan.request import ScanRequest
from iceberg_spark.spark.catalyst.spark_catalog import Name, ResolvedRelation
from iceberg_spark.spark.session.active_session import is_case_sensitive, session_time_zone
from iceberg_spark.spark.session.session_cache import session_cache
from iceberg_spark.spark.session.session_catalogs import load_session_catalog
from iceberg_spark.spark.sql.query import TableAddress, load_table_or_view, queried_view
from iceberg_spark.spark.sql.references import TableReference
from iceberg_spark.spark.sql.resolved_relations import (
    ResolvedChanges,
    ResolvedMetadataTable,
    ResolvedTable,
    ResolvedView,
)
from iceberg_spark.spark.sql.seen import Seen
from iceberg_spark.spark.sql.table_planner import selected
from iceberg_spark.spark.sql.wap_branch import branch_to_read
from iceberg_spark.spec.view import ViewMetadata

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SessionCatalog:
    """One catalog that the settings of a session describe."""

    spark: SparkSession
    catalog_name: str

    def table(
        self, namespace: Name, name: str, version: str | None, timestamp_us: int | None
    ) -> ResolvedRelation | None:
        """Return a table, a metadata table or a view, pinned to one version."""
        with session_cache(self.spark):
            return self._load(namespace, name, _moment(version, timestamp_us))

    def _load(self, namespace: Name, name: str, moment: dict[str, Any]) -> ResolvedRelation | None:
        seen = Seen(self.spark)
        identifier = joined_name((*namespace, name))
        address = TableAddress(*seen.resolve(f"{self.catalog_name}.{identifier}"))
        try:
            there, selector = load_table_or_view(address, seen)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        if isinstance(there, ViewMetadata):
            return self._view(address, there, (*namespace, name), seen, moment)
        return self._table(there, selector, moment)

    def tables(self, namespace: Name) -> list[str] | None:
        """Return the names of the tables of a namespace."""
        return _if_there(lambda: [name[-1] for name in self._namespaces.list_tables(namespace)])

    def namespaces(self, parent: Name) -> list[Name] | None:
        """Return the namespaces below another one."""
        return _if_there(lambda: self._namespaces.list_namespaces(parent))

    def namespace(self, namespace: Name) -> dict[str, str] | None:
        """Return the properties of a namespace; the root of the catalog has none."""
        if not namespace:
            return {}
        return _if_there(lambda: self._namespaces.properties(namespace))

    @property
    def _namespaces(self) -> Namespaces:
        listed = load_session_catalog(self.spark, self.catalog_name).namespaces
        if listed is None:
            raise NoSuchNamespaceError(f"Catalog {self.catalog_name} has no namespaces")
        return listed

    def _view(
        self,
        address: TableAddress,
        view: ViewMetadata,
        name: Name,
        seen: Seen,
        moment: dict[str, Any],
    ) -> ResolvedView:
        if moment:
            raise InvalidInputError(
                f"{self.catalog_name}.{address.identifier} is a view: it has no versions to be "
                "read AS OF"
            )
        reference = TableReference((self.catalog_name, *name), 0, 0, None)
        query = queried_view(self.spark, reference, address, view, (), seen)
        return ResolvedView.of(self.spark, query)

    def _table(
        self, loaded: LoadedTable, selector: str | None, moment: dict[str, Any]
    ) -> ResolvedRelation:
        choice = selected(selector)
        if choice and moment:
            raise InvalidInputError(
                f"{loaded.identifier}.{selector} is one version of the table: leave AS OF out"
            )
        if selector and not choice and not is_changes(selector):
            pinned = pin_metadata_table(loaded, selector, **moment)
            version = f"{loaded.metadata_location} {selector} {moment}"
            return ResolvedMetadataTable(self.spark, *pinned, version)
        chosen = {**choice, **moment}
        if not chosen and (branch := branch_to_read(self.spark, loaded.metadata)) is not None:
            chosen = {"branch": branch}
        request = ScanRequest(
            **chosen,
            case_sensitive=is_case_sensitive(self.spark),
            time_zone=session_time_zone(self.spark),
        )
        if is_changes(selector):
            if moment:
                refuse_as_of(f"{loaded.identifier}.{selector}")
            return ResolvedChanges.of(self.spark, loaded, request)
        return ResolvedTable.of(self.spark, loaded, request)


def _moment(version: str | None, timestamp_us: int | None) -> dict[str, Any]:
    if version is not None:
        return {"version_as_of": version}
    return {} if timestamp_us is None else {"as_of_timestamp_ms": timestamp_us // 1000}


def _if_there(load: Callable[[], Answer]) -> Answer | None:
    try:
        return load()
    except NoSuchNamespaceError:
        return None
