"""The engine that reads and writes DataFrames, and how rows are distributed to tasks."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Engine: TypeAlias = Literal["native", "arrow"]
"""`native`: Spark's own readers and writers. `arrow`: ours, in Spark's Python workers."""
ENGINES: tuple[str, ...] = get_args(Engine)

Distribution: TypeAlias = Literal["none", "hash", "range"]
"""How rows are sent to tasks: as they lie, by partition, or by partition and sort key."""
DISTRIBUTIONS: tuple[str, ...] = get_args(Distribution)
