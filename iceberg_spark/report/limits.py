"""Numbers that bound a report, whatever the size of the table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """How much of a table a report shows; the rest is counted."""

    growth_points: int = 200
    """Points of a line over time."""
    commit_bars: int = 60
    """Bars of commits over time."""
    graph_snapshots: int = 40
    """Newest snapshots in the graph, next to those that branches and tags name."""
    graph_references: int = 20
    """Branches and tags in the graph."""
    heat_cells: int = 100
    """Cells of a row of the heat map: neighbouring partitions share one above that."""
    partitions: int = 20
    """Largest partitions in the table."""
    schema_versions: int = 20
    """Newest schemas and partition specs whose changes are shown."""
    changes: int = 100
    """Changed columns of one version."""
    properties: int = 200
    """Properties in the table."""
    text: int = 500
    """Characters of a name or value."""


REPORT = ReportLimits()
