"""The two engines that read and write data files under one plan."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Engine: TypeAlias = Literal["native", "arrow"]
"""`native`: Spark's own readers and writers. `arrow`: ours, in Spark's Python workers."""
ENGINES: tuple[str, ...] = get_args(Engine)
