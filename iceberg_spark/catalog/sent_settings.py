"""What a session says of a catalog, on its way to processes that have no session: one option."""

from __future__ import annotations

import json
from collections.abc import Mapping

from iceberg_spark.catalog.registry import with_settings

SENT_SETTINGS = "catalog.secret-settings"
"""The option's name; `secret` in it has Spark hide the value, in plans and in its event log."""


def sent_settings(catalog: str, settings: Mapping[str, str]) -> str:
    """Return a catalog's properties as the value of the option."""
    return json.dumps([catalog, dict(settings)])


def with_sent_settings(path: str, storage: Mapping[str, str]) -> dict[str, str]:
    """Return properties given for a table, laid over those that were sent for its catalog.

    What is configured here comes first. A reader may load several tables: what was sent for
    another catalog counts for nothing.
    """
    chosen = {key: value for key, value in storage.items() if key.lower() != SENT_SETTINGS}
    sent = next((value for key, value in storage.items() if key.lower() == SENT_SETTINGS), None)
    if sent is None:
        return chosen
    catalog, settings = json.loads(sent)
    return with_settings(path, chosen, lambda name: settings if name == catalog else {})
