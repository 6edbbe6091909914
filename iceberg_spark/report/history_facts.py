"""Facts about the history of a table from its snapshots: growth, commits, and the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iceberg_spark.report.limits import REPORT
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot

Floats = npt.NDArray[np.float64]

_LAST_MS = 7_258_118_400_000  # the year 2200: an axis has margins, and no calendar for any number
_TOTALS = {
    "rows": "total-records",
    "bytes": "total-files-size",
    "files": "total-data-files",
}
OTHER = "other"
OPERATIONS = ("append", "overwrite", "delete", "replace", OTHER)


@dataclass(frozen=True, slots=True)
class Growth:
    """Totals of main's snapshots over time (ms); NaN if a summary does not have one."""

    times: Floats
    totals: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Commits:
    """Commits by operation in equal spans of time; `edges` has one number more (ms)."""

    edges: Floats
    counts: Mapping[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A snapshot in the graph: its position, and the branches and tags that name it."""

    snapshot_id: int
    position: int
    lane: int
    operation: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A line from a node to its nearest ancestor in the graph; `skips` snapshots between them."""

    child: int
    parent: int
    skips: bool


@dataclass(frozen=True, slots=True)
class SnapshotGraph:
    """The newest snapshots and those that branches and tags name, oldest first."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def growth(metadata: TableMetadata) -> Growth:
    """Return how the table grew, in at most `REPORT.growth_points` points; the last is now."""
    lineage = list(_lineage(metadata, metadata.branch_head()))[::-1]
    chosen = _spread(len(lineage), REPORT.growth_points)
    shown = [lineage[index] for index in chosen]
    totals = {
        name: np.array([summary_number(snapshot, key) for snapshot in shown], np.float64)
        for name, key in _TOTALS.items()
    }
    return Growth(_times(shown), totals)


def commits(metadata: TableMetadata) -> Commits:
    """Count the commits of all branches over time, by operation."""
    snapshots = list(metadata.snapshots.values())
    times = _times(snapshots)
    operations = np.array([_operation(snapshot) for snapshot in snapshots], np.str_)
    first, last = (times.min(), times.max()) if len(times) else (0.0, 1.0)
    edges = np.linspace(first, max(last, first + 1), REPORT.commit_bars + 1)
    counts = {
        name: np.histogram(times[operations == name], edges)[0].astype(np.int64)
        for name in OPERATIONS
        if name in operations
    }
    return Commits(edges, counts)


def snapshot_graph(metadata: TableMetadata) -> SnapshotGraph:
    """Return the newest snapshots with the branches and tags that name them.

    Each branch has a lane of its own for the snapshots that no branch before it has; main is first.
    """
    references: dict[int, list[str]] = {}
    names = sorted(metadata.refs, key=lambda name: (name != MAIN_BRANCH, name))
    for name in names[: REPORT.graph_references]:
        references.setdefault(metadata.refs[name].snapshot_id, []).append(name)
    ordered = sorted(metadata.snapshots.values(), key=lambda snapshot: snapshot.timestamp_ms)
    newest = {snapshot.snapshot_id for snapshot in ordered[-REPORT.graph_snapshots :]}
    shown = [s for s in ordered if s.snapshot_id in newest or s.snapshot_id in references]
    position_of = {snapshot.snapshot_id: index for index, snapshot in enumerate(shown)}
    lane_of, edges = _lanes(metadata, names[: REPORT.graph_references], shown, position_of)
    nodes = tuple(
        GraphNode(
            snapshot.snapshot_id,
            index,
            lane_of[snapshot.snapshot_id],
            _operation(snapshot),
            tuple(references.get(snapshot.snapshot_id, ())),
        )
        for index, snapshot in enumerate(shown)
    )
    return SnapshotGraph(nodes, edges)


def summary_number(snapshot: Snapshot, key: str) -> float:
    """Return a number of a snapshot's summary, NaN if it is missing or not a number."""
    text = snapshot.summary.get(key, "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 19 else float("nan")


def axis_time(timestamp_ms: float) -> float:
    """Return a time that an axis can show: a table may record any number."""
    return float(min(max(timestamp_ms, 0), _LAST_MS))


def _lanes(
    metadata: TableMetadata,
    names: Iterable[str],
    shown: list[Snapshot],
    position_of: Mapping[int, int],
) -> tuple[dict[int, int], tuple[GraphEdge, ...]]:
    lane_of: dict[int, int] = {}
    edges: list[GraphEdge] = []
    heads = [metadata.snapshots.get(metadata.refs[name].snapshot_id) for name in names]
    lanes = 0
    for head in [*heads, *reversed(shown)]:  # the last ones are snapshots that nothing names
        if head is None or head.snapshot_id in lane_of:
            continue
        _walk(metadata, head, lanes, position_of, lane_of, edges)
        lanes += 1
    return lane_of, tuple(edges)


def _walk(
    metadata: TableMetadata,
    head: Snapshot,
    lane: int,
    position_of: Mapping[int, int],
    lane_of: dict[int, int],
    edges: list[GraphEdge],
) -> None:
    child, skips = head.snapshot_id, False
    lane_of[child] = lane
    for snapshot in list(_lineage(metadata, head))[1:]:
        number = snapshot.snapshot_id
        if number not in position_of:
            skips = True
            continue
        edges.append(GraphEdge(position_of[child], position_of[number], skips))
        if number in lane_of:
            return
        lane_of[number] = lane
        child, skips = number, False


def _lineage(metadata: TableMetadata, head: Snapshot | None) -> Iterable[Snapshot]:
    """Yield a snapshot and its ancestors; it ends if parents form a circle."""
    seen: set[int] = set()
    while head is not None and head.snapshot_id not in seen:
        seen.add(head.snapshot_id)
        yield head
        parent = head.parent_snapshot_id
        head = None if parent is None else metadata.snapshots.get(parent)


def _operation(snapshot: Snapshot) -> str:
    return snapshot.operation if snapshot.operation in OPERATIONS else OTHER


def _times(snapshots: list[Snapshot]) -> Floats:
    return np.array([axis_time(snapshot.timestamp_ms) for snapshot in snapshots], np.float64)


def _spread(count: int, most: int) -> list[int]:
    """Return at most `most` of `count` indexes, evenly spread, the first and the last included."""
    if count <= most:
        return list(range(count))
    return sorted({int(index) for index in np.linspace(0, count - 1, most).round()})
