"""The frames of the server are left out of errors over Connect, unless a setting asks for them."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from iceberg_spark.pyspark_hooks import spark_errors
from iceberg_spark.pyspark_hooks.spark_errors import without_server_trace


def shown_error() -> Any:
    error: Any = PySparkException("no such table")
    error._display_stacktrace = True
    return error


def session_with(setting: str | Exception) -> Any:
    def get(_name: str, _default: str) -> str:
        if isinstance(setting, Exception):
            raise setting
        return setting

    return SimpleNamespace(conf=SimpleNamespace(get=get))


@pytest.mark.parametrize(("setting", "is_shown"), [("false", False), ("true", True)])
def test_the_setting_of_the_session_decides(
    monkeypatch: pytest.MonkeyPatch, setting: str, is_shown: bool
) -> None:
    monkeypatch.setattr(spark_errors, "active_session", lambda: session_with(setting))
    assert without_server_trace(shown_error())._display_stacktrace is is_shown


def test_an_error_is_itself_where_the_session_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = session_with(PySparkException("the session is closed"))
    monkeypatch.setattr(spark_errors, "active_session", lambda: closed)
    error = shown_error()
    assert without_server_trace(error) is error
