"""Long work shows progress to people, and writes nothing to files and pipes."""

import io
import sys
import warnings
from types import SimpleNamespace

import pytest

from iceberg_spark.api import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_what_is_done() -> None:
    stream = Terminal()
    with progress.working("Expiring snapshots of t", stream):
        pass
    assert "Expiring snapshots of t" in stream.getvalue()


def test_a_pipe_gets_nothing() -> None:
    stream = io.StringIO()
    with progress.working("Expiring", stream):
        pass
    assert stream.getvalue() == ""


def test_an_error_goes_through() -> None:
    with pytest.raises(ValueError, match="no"), progress.working("Expiring", Terminal()):
        raise ValueError("no")


def test_a_notebook_shows_it_as_text_without_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    stream = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with progress.working("Expiring snapshots of t", stream):
            pass
    assert "Expiring snapshots of t" in stream.getvalue()
