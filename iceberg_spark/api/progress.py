"""Show the progress of long work, on a terminal or in a notebook only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec.printable import printable

_rich = LazyModule("rich.progress")
_console = LazyModule("rich.console")


@contextmanager
def working(what: str, stream: TextIO | None = None) -> Iterator[None]:
    """Show `what` with a moving bar and the time taken until the block ends; then it is gone.

    `stream` is stderr unless given. Into files and pipes nothing is written.
    """
    if not is_watched(sys.stderr if stream is None else stream):
        yield
        return
    columns = (
        _rich.TextColumn("{task.description}", markup=False),
        _rich.BarColumn(),
        _rich.TimeElapsedColumn(),
    )
    # A notebook shows the text of stderr unchanged; rich's own way there needs ipywidgets.
    kernel = True if in_notebook() else None
    console = _console.Console(
        file=stream, stderr=stream is None, force_jupyter=False, force_terminal=kernel
    )
    with _rich.Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(printable(what), total=None)
        yield


def is_watched(stream: TextIO) -> bool:
    """Return whether a person sees what is written: a terminal, or a notebook's kernel."""
    return stream.isatty() or in_notebook()


def in_notebook() -> bool:
    """Return whether the process is a notebook's kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
