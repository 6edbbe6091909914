"""How values look as the last line of a notebook's cell."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.types import IcebergType, ListType, MapType, StructType

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ShownText(str):
    """A text that IPython and notebooks show as `print` does, not as a quoted string."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        del cycle
        printer.text(str(self))


def shown_type(kind: IcebergType) -> str:
    """Return a type without field ids: `struct<a: int, b: list<string>>`."""
    match kind:
        case StructType(fields=fields):
            parts = (f"{field.name}: {shown_type(field.field_type)}" for field in fields)
            return f"struct<{', '.join(parts)}>"
        case ListType(element_type=element):
            return f"list<{shown_type(element)}>"
        case MapType(key_type=key, value_type=value):
            return f"map<{shown_type(key)}, {shown_type(value)}>"
        case _:
            return str(kind)


def shown_time(ms: int) -> str:
    """Return a time in milliseconds since the epoch as UTC, also one that no calendar has."""
    try:
        return f"{_EPOCH + timedelta(milliseconds=ms):%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:
        return f"{ms} ms"


def html_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str = "none"
) -> str:
    """Return a table for a notebook. Everything is escaped; `empty` replaces a table of no rows."""
    head = "".join(f"<th>{_cell(column)}</th>" for column in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows
    )
    table = f"<table><tr>{head}</tr>{body}</table>" if body else f"<p>{_cell(empty)}</p>"
    return f"<div><b>{_cell(title)}</b>{table}</div>"


def _cell(value: object) -> str:
    return html.escape(printable(str(value)))
