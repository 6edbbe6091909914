"""The base class of the hooks of PySpark's readers and writers: it records and passes on calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from iceberg_spark.spark.adapt.builder_state import BuilderState


class BuilderHook:
    """Comes before PySpark's own class in the bases of a reader or writer of an enabled session."""

    _builder_state: BuilderState

    @property
    def _own(self) -> Any:
        """PySpark's own; `Any`, for it is the classic or the Connect one."""
        return super()

    def format(self, source: str) -> Self:
        """Note the format."""
        self._builder_state.source = source
        self._own.format(source)
        return self

    def option(self, key: str, value: Any) -> Self:
        """Note an option."""
        self._builder_state.add({key: value})
        self._own.option(key, value)
        return self

    def options(self, **options: Any) -> Self:
        """Note options."""
        self._builder_state.add(options)
        self._own.options(**options)
        return self

    def _record_partitioning(self, cols: Sequence[Any]) -> None:
        """Note the columns to partition a new table by, one by one or as one list of them."""
        several = len(cols) == 1 and isinstance(cols[0], list | tuple)
        self._builder_state.partition_by = tuple(cols[0] if several else cols)
