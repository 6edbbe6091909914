"""The settings of a session whose names begin alike."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.classic_session import all_settings
from iceberg_spark.spark.session.long_texts import settings_text


def prefixed_settings(session: SparkSession, prefix: str) -> dict[str, str]:
    """Return the settings whose names begin with `prefix`, by the rest of their names.

    A few round trips; over Connect one request.
    """
    text = settings_text(session)
    if text is None:
        settings = all_settings(session)
        return {key[len(prefix) :]: settings[key] for key in settings if key.startswith(prefix)}
    # The text only names settings: values may hold what separates them.
    found = {}
    for key in sorted(set(re.findall(rf"(?:\{{|, )({re.escape(prefix)}[^=\s,]+)=", text))):
        value = session.conf.get(key, None)
        if value is not None:
            found[key[len(prefix) :]] = str(value)
    return found
