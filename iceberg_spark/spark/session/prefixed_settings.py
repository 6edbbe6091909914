"""The settings of a session that share a prefix."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.classic_session import all_settings
from iceberg_spark.spark.session.long_texts import settings_text


def prefixed_settings(session: SparkSession, prefix: str) -> dict[str, str]:
    """Return the settings that start with `prefix`, by the rest of their names.

    It takes a few round trips, over Connect one request.
    """
    text = settings_text(session)
    if text is None:
        settings = all_settings(session)
        return {key[len(prefix) :]: settings[key] for key in settings if key.startswith(prefix)}
    values = {
        name: session.conf.get(f"{prefix}{name}", None) for name in prefixed_names(session, prefix)
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def prefixed_names(session: SparkSession, prefix: str) -> list[str]:
    """Return the rest of the names of the settings that start with `prefix`.

    A name may be wrong: it may be a part of another setting's value.
    """
    text = settings_text(session)
    if text is None:
        return [key[len(prefix) :] for key in all_settings(session) if key.startswith(prefix)]
    return sorted(set(re.findall(rf"(?:\{{|, ){re.escape(prefix)}([^=\s,]+)=", text)))
