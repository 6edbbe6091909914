"""The server's frames in the text of an error over Connect."""

from __future__ import annotations

from typing import Any, TypeVar

from pyspark.errors import PySparkException

from iceberg_spark.spark.session.active_session import active_session

E = TypeVar("E", bound=PySparkException)

_SHOWN = "_display_stacktrace"
_SETTING = "spark.sql.pyspark.jvmStacktrace.enabled"


def without_server_trace(error: E) -> E:
    """Return an error whose text does not have the frames of the server; `getStackTrace` has them.

    PySpark adds some 80 lines to each message by default. They stay if the session's setting
    `spark.sql.pyspark.jvmStacktrace.enabled` is true, as on classic sessions.
    """
    inside: Any = error
    if not getattr(inside, _SHOWN, False):
        return error
    session = active_session()
    try:
        setting = "false" if session is None else session.conf.get(_SETTING, "false")
    except PySparkException:  # the server has closed the session since
        return error
    setattr(inside, _SHOWN, str(setting).lower() == "true")
    return error
