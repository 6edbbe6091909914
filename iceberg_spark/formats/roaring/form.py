"""The numbers of the format that reading and writing share."""

from __future__ import annotations

PLAIN, WITH_RUNS = 12346, 12347
"""How a bitmap begins: without containers of runs, or with some."""
WORDS = 1024
"""Words of a container, 64 positions each."""
POSITIONS = 1 << 16
"""Positions that a container may have."""
MOST_NUMBERS = 4096
"""Positions up to which a container is numbers, if it isn't runs; above it is words."""
OFFSETS_FROM = 4
"""Number of containers from which a bitmap with runs has offsets."""
KEY_SHIFT = 26
"""2**26 words have the same upper half."""
