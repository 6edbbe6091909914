"""What hooks of PySpark's readers and writers share: what is asked is noted and passed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from iceberg_spark.spark.adapt.builder_state import BuilderState


class AskedHook:
    """Stands before PySpark's own class among the bases of a reader or writer that is enabled."""

    _asked: BuilderState

    @property
    def _own(self) -> Any:
        """PySpark's own; `Any`, for it is the classic or the Connect one."""
        return super()

    def format(self, source: str) -> Self:
        """Note the format."""
        self._asked.source = source
        self._own.format(source)
        return self

    def option(self, key: str, value: Any) -> Self:
        """Note an option."""
        self._asked.add({key: value})
        self._own.option(key, value)
        return self

    def options(self, **options: Any) -> Self:
        """Note options."""
        self._asked.add(options)
        self._own.options(**options)
        return self

    def _note_partitioning(self, cols: Sequence[Any]) -> None:
        """Note the columns to partition a new table by, one by one or as one list of them."""
        several = len(cols) == 1 and isinstance(cols[0], list | tuple)
        self._asked.partition_by = tuple(cols[0] if several else cols)
