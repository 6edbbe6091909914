"""`t.report()`: a report for people, shown in a notebook or saved as one HTML file."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.maintenance.upkeep_plan import MaintenanceItem
from iceberg_spark.spec.printable import printable

_page = LazyModule("iceberg_spark.report.page")


@dataclass(frozen=True, slots=True, repr=False)
class TableReport:
    """A report of a table as one HTML document, which loads nothing and runs no script."""

    identifier: str
    html: str

    def __repr__(self) -> str:
        return printable(f"Report of {self.identifier}: .save('report.html') writes it")

    def _repr_html_(self) -> str:
        # A frame keeps the styles of the report and of the notebook apart.
        return (
            f'<iframe title="{html.escape(printable(self.identifier))}" sandbox="" '
            f'style="width: 100%; height: 40rem; border: 0" srcdoc="{html.escape(self.html)}">'
            "</iframe>"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the document to a local file.

        Args:
            path: The path of the file.

        Raises:
            OSError: The file cannot be written.

        Examples:
            >>> t.report().save("/data/orders.html")
        """
        Path(path).write_text(self.html, encoding="utf-8")


def table_report(loaded: LoadedTable, advice: Sequence[MaintenanceItem]) -> TableReport:
    """Return the report of a table at a version, with what is worth doing.

    Raises:
        UnsupportedError: matplotlib is not installed.
        CorruptFileError: A manifest is malformed.
        StorageError: The store failed.
    """
    try:
        return TableReport(loaded.identifier, _page.render(loaded, advice))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise UnsupportedError(
            "The table report needs matplotlib: pip install 'iceberg-spark[report]'"
        ) from error
