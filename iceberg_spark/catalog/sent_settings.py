"""A session's settings of a catalog as one option, for processes without a session."""

from __future__ import annotations

import json
from collections.abc import Mapping

from iceberg_spark.catalog.registry import with_settings

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
