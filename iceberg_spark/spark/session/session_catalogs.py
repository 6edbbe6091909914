"""Catalogs that the settings of a session describe, as in Java: `spark.sql.catalog.NAME.*`."""

from __future__ import annotations

from functools import partial

from pyspark.sql import SparkSession

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.config import configured_names
from iceberg_spark.catalog.registry import (
    LOCAL_CATALOG,
    is_defined,
    is_kind_of_ours,
    load_catalog,
    overlaid,
)
from iceberg_spark.spark.session.option_defaults import prefixed_names, prefixed_settings
from iceberg_spark.spark.session.session_cache import cached, setting

_PREFIX = "spark.sql.catalog."
_JAVAS = "org.apache.iceberg.spark.SparkCatalog"
_METASTORE = "spark.hadoop.hive.metastore.uris"


def session_catalog(session: SparkSession, name: str) -> dict[str, str]:
    """Return the properties that settings give a catalog, none if there is no such catalog.

    Names are case sensitive, as in Spark. A Hive catalog without a metastore uses the session's. It
    takes a few round trips.
    """
    return dict(cached(session, ("catalog", name), lambda: _session_catalog(session, name)))


def _session_catalog(session: SparkSession, name: str) -> dict[str, str]:
    properties = prefixed_settings(session, f"{_PREFIX}{name}.")
    is_hives = properties.get("type", "hive") == "hive" and "catalog-impl" not in properties
    if is_hives and "uri" not in properties and (properties or has_spark_catalog(session, name)):
        metastore = session.conf.get(_METASTORE, None)
        return properties if metastore is None else {"type": "hive", **properties, "uri": metastore}
    return properties


def load_session_catalog(session: SparkSession, name: str) -> Catalog:
    """Load a catalog that the settings of a session describe. Raises InvalidInputError."""
    return load_catalog(name, **overlaid(name, {}, partial(session_catalog, session)))


def catalog_names(session: SparkSession) -> list[str]:
    """Return the names of the Iceberg catalogs that settings or this library describe."""
    return sorted(name for name in described_names(session) if is_ours(session, name))


def described_names(session: SparkSession) -> set[str]:
    """Return the names of all catalogs that settings describe, also those of other libraries.

    Names that are configured outside the session are in lower case.
    """
    settings = cached(session, "catalogs", lambda: prefixed_names(session, _PREFIX))
    return {key.partition(".")[0] for key in settings}.union(configured_names())


def has_spark_catalog(session: SparkSession, name: str) -> bool:
    """Return whether a setting gives a catalog a class, so that Spark itself has it."""
    return spark_catalog_class(session, name) is not None


def spark_catalog_class(session: SparkSession, name: str) -> str | None:
    """Return the class that a setting gives a catalog, None without one."""
    return setting(session, f"{_PREFIX}{name}", None)


def is_ours(session: SparkSession, name: str) -> bool:
    """Return whether this library, and not Spark, reads the tables of a catalog."""
    return cached(session, ("is ours", name), lambda: _is_ours(session, name))


def _is_ours(session: SparkSession, name: str) -> bool:
    class_name = spark_catalog_class(session, name)
    if class_name not in (None, _JAVAS):
        return False
    if is_defined(name):
        return True
    properties = session_catalog(session, name)
    if not properties:
        return name == LOCAL_CATALOG and class_name is None
    return class_name is None or is_kind_of_ours(properties)
