"""Results on standard output: a table on a terminal, tab-separated text in a pipe, or JSON.

Names and values come from tables, so nothing in them is interpreted: rich's markup stays text, and
control characters, which could drive a terminal, are shown as escapes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any

from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec.printable import printable

_console = LazyModule("rich.console")
_table = LazyModule("rich.table")
_text = LazyModule("rich.text")
_values = LazyModule("iceberg_spark.cli.row_file")
_box = LazyModule("rich.box")

_ROWS_AT_A_TIME = 1000
"""Rows that are converted, or laid out as one table, together: memory holds no more."""


class OutputFormat(StrEnum):
    """The values of `--output`."""

    TEXT = "text"
    JSON = "json"


def print_batches(names: Sequence[str], batches: Iterable[Any], output: OutputFormat) -> None:
    """Print rows of Arrow batches while they come; JSON is one array of objects."""
    print_rows(names, _rows(batches), output)


def print_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], output: OutputFormat) -> None:
    """Print rows of values that JSON has; JSON is one array of objects.

    Rows without columns, which a SQL command returns, are no text at all.
    """
    match output:
        case OutputFormat.JSON:
            _print_json_rows(names, rows)
        case OutputFormat.TEXT if not names:
            return
        case OutputFormat.TEXT if sys.stdout.isatty():
            _print_tables(names, iter(rows))
        case OutputFormat.TEXT:
            _print_line(map(_cell, names))
            for row in rows:
                _print_line(map(_cell, row))


def print_record(record: Mapping[str, Any], output: OutputFormat) -> None:
    """Print names with their values; JSON is one object."""
    if output is OutputFormat.JSON:
        print_json(record)
        return
    width = max(map(len, record), default=0) if sys.stdout.isatty() else 0
    for name, value in record.items():
        separator = "  " if width else "\t"
        sys.stdout.write(f"{_cell(name):<{width}}{separator}{_cell(value)}\n")


def print_json(value: Any) -> None:
    """Print one JSON document."""
    sys.stdout.write(f"{json.dumps(value, indent=2, allow_nan=False)}\n")


def print_result(text: str, record: Mapping[str, Any], output: OutputFormat) -> None:
    """Print what a command did: a sentence, or as JSON its facts."""
    if output is OutputFormat.JSON:
        print_json(record)
    else:
        sys.stdout.write(f"{printable(text)}\n")


def print_note(text: str) -> None:
    """Print a line for people to standard error."""
    sys.stderr.write(f"{printable(text)}\n")


def _rows(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS_AT_A_TIME):
            piece = batch.slice(start, _ROWS_AT_A_TIME)
            yield from zip(*map(_values.json_values, piece.columns), strict=True)


def _print_json_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    separator = "[\n"
    for row in rows:
        text = json.dumps(dict(zip(names, row, strict=True)), allow_nan=False)
        sys.stdout.write(f"{separator}  {text}")
        separator = ",\n"
    sys.stdout.write("\n]\n" if separator == ",\n" else "[]\n")


def _print_tables(names: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    console = _console.Console(file=sys.stdout)
    while True:
        page = list(islice(rows, _ROWS_AT_A_TIME))
        table = _table.Table(box=_box.SIMPLE_HEAD)
        for name in names:
            table.add_column(_text.Text(_cell(name)), overflow="fold")
        for row in page:
            table.add_row(*(_text.Text(_cell(value)) for value in row))
        console.print(table)
        if len(page) < _ROWS_AT_A_TIME:
            return


def _print_line(cells: Iterable[str]) -> None:
    sys.stdout.write("\t".join(cells) + "\n")


def _cell(value: Any) -> str:
    """Return a value on one line, without tabs: both separate cells in a pipe."""
    match value:
        case None:
            text = "NULL"
        case str():
            text = value
        case dict() | list():
            text = json.dumps(value, ensure_ascii=False)
        case bool():
            text = str(value).lower()
        case _:
            text = str(value)
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")
