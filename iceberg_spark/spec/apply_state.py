"""State carried from one update to the next while updates are applied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from iceberg_spark.spec.metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class ApplyState:
    """The metadata so far, and the effects of the previous updates.

    `last_*` are the ids that -1 stands for. `added` are the snapshots that these updates add,
    `main_moves` those that main was set to, `removed` is true once a snapshot was removed.
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
