"""Session settings that are defaults of read and write options."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.save.write_options import write_options
from iceberg_spark.scan.split import SplitOptions, split_options
from iceberg_spark.spark.session.classic_session import all_settings
from iceberg_spark.spark.session.long_texts import settings_text
from iceberg_spark.spark.session.session_cache import cached, setting
from iceberg_spark.spec.arguments import positive_option
from iceberg_spark.spec.runtime_names import READ_SPLIT_SIZE, SESSION_PREFIX, write_defaults


def session_read_defaults(session: SparkSession) -> dict[str, str]:
    """Return the read options that settings give (Java: SparkReadConf)."""
    size = setting(session, READ_SPLIT_SIZE, None)
    return {} if size is None else {"split-size": size}


def session_split(session: SparkSession, properties: Mapping[str, str]) -> SplitOptions:
    """Return how a session splits the files of a table with some properties.

    Raises InvalidOptionError.
    """
    defaults = session_read_defaults(session)
    return split_options(properties, split_size=positive_option(defaults, "split-size"))


def session_write_defaults(session: SparkSession) -> dict[str, str]:
    """Return the write options that settings give (Java: SparkWriteConf).

    Raises InvalidOptionError for a bad value.
    """
    return dict(cached(session, "write defaults", lambda: _write_defaults(session)))


def _write_defaults(session: SparkSession) -> dict[str, str]:
    settings = prefixed_settings(session, SESSION_PREFIX)
    defaults = write_defaults({f"{SESSION_PREFIX}{name}": text for name, text in settings.items()})
    try:
        write_options({"path": "any"}, plain=False, defaults=defaults)
    except InvalidOptionError as error:
        raise InvalidOptionError(
            f"A setting {SESSION_PREFIX}* of the session is wrong: {error}"
        ) from None
    return defaults


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
