"""Session settings that are defaults of read and write options."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.save.write_options import write_options
from iceberg_spark.scan.split import SplitOptions, split_options
from iceberg_spark.spark.session.prefixed_settings import prefixed_settings
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
