"""What applying updates keeps between one update and the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class ApplyState:
    """The metadata so far, and what the updates before did.

    `last_*` are the ids that -1 stands for; `added` are the snapshots added by these updates,
    `main_moves` those that main was set to, `removed` tells whether one was removed.
    """

    metadata: TableMetadata
    now_ms: int
    last_schema_id: int | None = None
    last_spec_id: int | None = None
    last_order_id: int | None = None
    added: frozenset[int] = frozenset()
    main_moves: frozenset[int] = frozenset()
    removed: bool = False

    def but(self, **changes: Any) -> ApplyState:
        """Return the state with fields of the metadata replaced."""
        return replace(self, metadata=replace(self.metadata, **changes))
