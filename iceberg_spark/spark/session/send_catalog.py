"""Catalogs of a session for streams, which Spark's Python processes plan without a session."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from pyspark.sql import SparkSession

from iceberg_spark.catalog.registry import catalog_of, is_defined, with_settings
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spark.session.classic_session import is_connect
from iceberg_spark.spark.session.redaction import BY_DEFAULT, REDACTION
from iceberg_spark.spark.session.session_catalogs import session_catalog
from iceberg_spark.spec.secrets import is_secret


def catalog_to_send(session: SparkSession, table: str) -> dict[str, str]:
    """Return the option that describes the catalog of a stream's table, none if none is needed.

    Raises InvalidOptionError for a secret among the settings that this session would show.
    """
    name = catalog_of(table)
    if name is None or is_defined(name):
        return {}
    settings = session_catalog(session, name)
    if not settings:
        return {}
    secrets = [key for key, value in settings.items() if is_secret(key, value)]
    shown = _shown_by(session) if secrets else None
    if shown is not None:
        raise InvalidOptionError(
            f"spark.sql.catalog.{name}.{secrets[0]} would be shown by a stream, since {shown}. "
            "Configure the catalog outside the session (.pyiceberg.yaml, PYICEBERG_CATALOG__*), "
            "where Spark's driver runs"
        )
    return {SENT_SETTINGS: sent_settings(name, settings)}


def _shown_by(session: SparkSession) -> str | None:
    """Return why the option's value would be shown, None if Spark hides it.

    If only Java can compile a pattern, it counts as one that hides nothing.
    """
    if is_connect(session):
        return "Spark Connect writes the options of a load into its events unchanged"
    try:
        hides = re.compile(session.conf.get(REDACTION, BY_DEFAULT) or "(?!)")
    except re.error:
        hides = re.compile("(?!)")
    if hides.search(SENT_SETTINGS) is not None:
        return None
    return f"this session's {REDACTION} does not hide '{SENT_SETTINGS}'"


SENT_SETTINGS = "catalog.secret-settings"
"""The option's name. Because of `secret` in it, Spark hides the value in plans and event logs."""


def sent_settings(catalog: str, settings: Mapping[str, str]) -> str:
    """Return a catalog's properties as the value of the option."""
    return json.dumps([catalog, dict(settings)])


def with_sent_settings(path: str, storage: Mapping[str, str]) -> dict[str, str]:
    """Return the properties given for a table over those that were sent for its catalog.

    The configuration of this process comes first. A reader may load several tables: properties sent
    for another catalog are ignored.
    """
    chosen = {key: value for key, value in storage.items() if key.lower() != SENT_SETTINGS}
    sent = next((value for key, value in storage.items() if key.lower() == SENT_SETTINGS), None)
    if sent is None:
        return chosen
    catalog, settings = json.loads(sent)
    return with_settings(path, chosen, lambda name: settings if name == catalog else {})
