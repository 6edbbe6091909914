"""Numbers that bound what commits keep and look for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """How much is kept of the batches of applications, and how far back they are looked for."""

    records: int = 100
    """Properties `txn.*` of a table, some 150 bytes each; the oldest go."""
    former_versions: int = 100
    """Former metadata files that are read, at most, to learn whether an expired snapshot was an
    ancestor; as many as tables keep by default (`write.metadata.previous-versions-max`)."""


TOKENS = TokenLimits()
