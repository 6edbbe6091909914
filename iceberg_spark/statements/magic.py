"""`%load_ext iceberg_spark`: statements of SQL in the cells of a notebook.

IPython hands over its shell; nothing of it is imported here.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.active_session import needed_session
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.statements.cursor import split_statements
from iceberg_spark.spec.printable import printable
from iceberg_spark.statements.magic_completion import add_completion, remove_completion
from iceberg_spark.statements.sql import sql

_NAME = "iceberg"
_SHOWN_ROWS = 20


@dataclass(frozen=True, slots=True)
class ShownRows:
    """The first rows of what a cell gives, for a notebook or a terminal."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: bool

    def __repr__(self) -> str:
        every = [self.columns, *self.rows]
        wide = [max(len(row[index]) for row in every) for index in range(len(self.columns))]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip()
            for row in every
        ]
        return "\n".join([*lines, *self._rest()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
            for row in self.rows
        )
        rest = "".join(f"<p>{html.escape(line)}</p>" for line in self._rest())
        return f"<table><tr>{head}</tr>{body}</table>{rest}"

    def _rest(self) -> list[str]:
        return [f"only the first {len(self.rows)} rows are shown"] if self.more else []


def load_ipython_extension(shell: Any) -> None:
    """Give IPython's shell the magics `%iceberg` and `%%iceberg`.

    `%%iceberg` runs the statements of the cell as `sql` does, in the active session, and shows the
    first 20 rows of the last one. `%%iceberg name` puts its DataFrame into a variable instead. The
    Tab key completes names of catalogs, namespaces, tables, and columns of the cell's tables.
    """

    def iceberg(line: str, cell: str | None = None) -> ShownRows | None:
        name = line.strip()
        if cell is None:
            return _shown(_run(needed_session(), name))
        if name and not name.isidentifier():
            raise InvalidInputError(f"%%{_NAME} takes the name of a variable, not '{name}'")
        frame = _run(needed_session(), cell)
        if not name:
            return _shown(frame)
        shell.user_ns[name] = frame
        return None

    shell.register_magic_function(iceberg, magic_kind="line_cell", magic_name=_NAME)
    add_completion(shell, _NAME)


def unload_ipython_extension(shell: Any) -> None:
    """Take the magics away again."""
    for magics in shell.magics_manager.magics.values():
        magics.pop(_NAME, None)
    remove_completion(shell, _NAME)


def _run(session: SparkSession, text: str) -> DataFrame:
    """Run the statements of a cell in their order, and return the result of the last one."""
    *first, last = split_statements(text, session_dialect(session))
    for statement in first:
        sql(session, statement)
    return sql(session, last)


def _shown(frame: DataFrame) -> ShownRows | None:
    """Return a frame's first rows; None for what a command gives, which has no columns."""
    if not frame.columns:
        return None
    collected = frame.limit(_SHOWN_ROWS + 1).collect()
    rows = tuple(_texts(tuple(row)) for row in collected[:_SHOWN_ROWS])
    return ShownRows(_texts(frame.columns), rows, len(collected) > _SHOWN_ROWS)


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple("NULL" if value is None else printable(str(value)) for value in values)
