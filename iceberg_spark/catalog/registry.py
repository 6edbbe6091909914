"""Catalogs by name and type, and tables by the text that a user gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.config import DEFAULT_CATALOG, configured_catalog, default_catalog
from iceberg_spark.catalog.filesystem import WAREHOUSE, FileSystemCatalog
from iceberg_spark.catalog.metadata_file import is_metadata_file
from iceberg_spark.catalog.table_name import TableName, property_texts, table_name
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.lazy import LazyFunction, LazyModule
from iceberg_spark.spec.secrets import is_secret

TYPE = "type"
URI = "uri"
IMPLEMENTATION = "catalog-impl"

_no_bigquery_catalog = LazyFunction("iceberg_spark.catalog.aws.catalogs", "no_bigquery_catalog")
_memory_catalog = LazyFunction("iceberg_spark.catalog.memory", "memory_catalog")
_sql_catalog = LazyFunction("iceberg_spark.catalog.sql_catalog", "sql_catalog")
_KINDS: dict[str, Callable[[str, Mapping[str, str]], Catalog]] = {
    "filesystem": FileSystemCatalog,
    "hadoop": FileSystemCatalog,
    "memory": _memory_catalog,
    "in-memory": _memory_catalog,
    "rest": LazyFunction("iceberg_spark.catalog.rest.rest_catalog", "rest_catalog"),
    "sql": _sql_catalog,
    "jdbc": _sql_catalog,
    "hive": LazyFunction("iceberg_spark.catalog.hive.hive_catalog", "hive_catalog"),
    "glue": LazyFunction("iceberg_spark.catalog.aws.catalogs", "glue_catalog"),
    "dynamodb": LazyFunction("iceberg_spark.catalog.aws.catalogs", "dynamodb_catalog"),
    "bigquery": _no_bigquery_catalog,
}
_JAVAS = {
    "org.apache.iceberg.hadoop.HadoopCatalog": "hadoop",
    "org.apache.iceberg.jdbc.JdbcCatalog": "jdbc",
    "org.apache.iceberg.rest.RESTCatalog": "rest",
    "org.apache.iceberg.hive.HiveCatalog": "hive",
    "org.apache.iceberg.aws.glue.GlueCatalog": "glue",
    "org.apache.iceberg.aws.dynamodb.DynamoDbCatalog": "dynamodb",
    "org.apache.iceberg.gcp.bigquery.BigQueryMetastoreCatalog": "bigquery",
}
"""Java's classes as values of `catalog-impl`."""


_STORAGE_CLASS = "io-impl"
_JAVAS_STORAGE = "org.apache.iceberg."
_PYICEBERGS_STORAGE = ("pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO")


def load_catalog(name: str | None = None, **properties: object) -> Catalog:
    """Return a catalog by name: its configured properties, overridden by those given.

    `type` is `filesystem` (or `hadoop`: tables below `warehouse`), `rest` (a server at `uri`),
    `sql` (or `jdbc`: a database at `uri`), `hive` (a metastore at `uri`), `glue`, `dynamodb` or
    `memory` (or `in-memory`: of this process alone). `local` needs no configuration: SQLite and a
    warehouse in the user's data folder.

    Raises:
        InvalidInputError: the type is unknown.
        UnsupportedError: the type is `bigquery`.
    """
    called = name or default_catalog()
    chosen = property_texts(properties)
    every = {**_configured(called, chosen), **chosen}
    if called == LOCAL_CATALOG and not {TYPE, URI, IMPLEMENTATION} & every.keys():
        every = {**local_properties(), **every}
    kind = every.get(TYPE, "").lower() or _kind_by_properties(called, every)
    _note_foreign_io(called, every)
    if kind not in _KINDS:
        raise InvalidInputError(
            f"Catalog '{called}' has unknown type '{kind}'; supported are {', '.join(_KINDS)}"
        )
    return _KINDS[kind](called, every)


def _configured(name: str, chosen: Mapping[str, str]) -> dict[str, str]:
    """Return the configured properties, without their secrets if the call gives another `uri`."""
    return _without_secrets_of_others(configured_catalog(name), chosen)


def _without_secrets_of_others(
    configured_properties: Mapping[str, str], chosen: Mapping[str, str]
) -> dict[str, str]:
    if chosen.get(URI, configured_properties.get(URI)) == configured_properties.get(URI):
        return dict(configured_properties)
    return {key: value for key, value in configured_properties.items() if not is_secret(key, value)}


def _kind_by_properties(name: str, properties: Mapping[str, str]) -> str:
    if IMPLEMENTATION in properties:
        kind = _JAVAS.get(properties[IMPLEMENTATION])
        if kind is None:
            raise UnsupportedError(
                f"Catalog '{name}' has {IMPLEMENTATION} {properties[IMPLEMENTATION]}: give its "
                f"type instead; known are {', '.join(_JAVAS)}"
            )
        return kind
    kind = _kind_by_location(properties)
    if kind is not None:
        return kind
    prefix = f"PYICEBERG_CATALOG__{name.upper()}__"
    raise InvalidInputError(
        f"Catalog '{name}' is not configured: give type and {WAREHOUSE} as properties, in "
        f".pyiceberg.yaml, or as {prefix}TYPE and {prefix}WAREHOUSE (a path is meant? begin it "
        f"with / or ./). A session's spark.sql.catalog.{name}.* is seen by ice.load_table, ice.sql "
        "and sessions with ice.enable(spark), not by the plain source"
    )


def _kind_by_location(properties: Mapping[str, str]) -> str | None:
    uri = properties.get(URI, "")
    if uri.startswith(("http://", "https://")):
        return "rest"
    if uri.startswith("thrift://"):
        return "hive"
    if uri:
        return "sql"
    return "filesystem" if WAREHOUSE in properties else None


def _note_foreign_io(name: str, properties: Mapping[str, str]) -> None:
    """Warn that another library's storage class is not used; Java's own classes need no warning."""
    kind = properties.get(_STORAGE_CLASS, _JAVAS_STORAGE)
    if not kind.startswith(_JAVAS_STORAGE) and kind not in _PYICEBERGS_STORAGE:
        warnings.warn(
            f"Catalog '{name}' names {_STORAGE_CLASS} {kind}, which is not used: storage is ours",
            stacklevel=3,
        )


def is_kind_of_ours(properties: Mapping[str, str]) -> bool:
    """Return whether Java's properties of a catalog describe a supported type."""
    kind = properties.get(TYPE, "").lower()
    if not kind and IMPLEMENTATION in properties:
        kind = _JAVAS.get(properties[IMPLEMENTATION], "unknown")
    return not kind or (kind in _KINDS and _KINDS[kind] is not _no_bigquery_catalog)


def is_defined(name: str) -> bool:
    """Return whether a catalog is configured outside the session."""
    return bool(configured_catalog(name))


def with_settings(
    table: TableName, chosen: Mapping[str, str], settings: Callable[[str], Mapping[str, str]]
) -> dict[str, str]:
    """Return the properties given for a table over those of the session for its catalog.

    `settings` returns the latter by the catalog's name; called only if nothing else defines the
    catalog.
    """
    name = catalog_of(table)
    return dict(chosen) if name is None else overlaid(name, chosen, settings)


def overlaid(
    name: str, chosen: Mapping[str, str], settings: Callable[[str], Mapping[str, str]]
) -> dict[str, str]:
    """Return the properties given for a catalog over the session's, as `with_settings` does."""
    if is_defined(name):
        return dict(chosen)
    session_settings = dict(settings(name))
    if not session_settings and name == LOCAL_CATALOG:
        return dict(chosen)  # `local` needs no configuration
    if session_settings and not {TYPE, IMPLEMENTATION} & session_settings.keys():
        session_settings[TYPE] = _kind_by_location(session_settings) or "hive"  # Java: SparkCatalog
    return {**_without_secrets_of_others(session_settings, chosen), **chosen}


def catalog_of(table: TableName) -> str | None:
    """Return the catalog in an identifier; None for a location."""
    text = table_name(table)
    is_place = location.is_absolute(text) or "/" in text or "." not in text.strip(".")
    return None if is_place or is_metadata_file(text) else text.partition(".")[0]


def resolve(
    table: TableName, properties: Mapping[str, object] | None = None
) -> tuple[Catalog, str]:
    """Return the catalog of a table, and what that catalog calls the table.

    `table` is a location (or a Path), a metadata file, or an identifier "catalog.namespace.table".
    A name without dots, and every text with a slash, is a path.
    """
    chosen = property_texts(properties or {})
    text = table_name(table)
    name = catalog_of(text)
    if name is None:
        path = text.rstrip("/") if location.is_absolute(text) else location.absolute(text)
        return FileSystemCatalog(DEFAULT_CATALOG, chosen), path
    identifier = identifier_of(text)
    return load_catalog(name, **chosen), identifier


def identifier_of(text: str) -> str:
    """Return what the catalog in an identifier calls the table.

    Raises InvalidInputError for a name with an empty part.
    """
    identifier = text.partition(".")[2]
    if not all(identifier.split(".")):
        raise InvalidInputError(f"'{text}' is neither a location nor catalog.namespace.table")
    return identifier


platformdirs = LazyModule("platformdirs")

LOCAL_CATALOG = "local"
_FOLDER = "iceberg_spark"


def local_properties() -> dict[str, str]:
    """Create and return a SQLite file and a warehouse in the user's data folder.

    Raises UnsupportedError if the extra `sql` is not installed.
    """
    try:
        home = platformdirs.user_data_path(_FOLDER, appauthor=False, ensure_exists=True)
    except ImportError as error:
        raise UnsupportedError(
            f"Catalog '{LOCAL_CATALOG}' needs pip install 'iceberg-spark[sql]'"
        ) from error
    return {
        "type": "sql",
        "uri": f"sqlite:///{home / 'catalog.db'}",
        "warehouse": str(home / "warehouse"),
    }
