"""Numbers that limit what commits record and search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """How many batches of applications are recorded, and how far back they are searched."""

    records: int = 100
    """Properties `txn.*` of a table, about 150 bytes each; the oldest are removed."""
    former_versions: int = 100
    """Earlier metadata files to read, at most, to find an expired ancestor.

    Tables keep as many by default (`write.metadata.previous-versions-max`).
    """


TOKENS = TokenLimits()
