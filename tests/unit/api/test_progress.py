"""Long work shows progress to people, and writes nothing to files and pipes."""

import io

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
