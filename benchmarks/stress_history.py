"""A table's history replayed serially in memory, and compared with what the table holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import iceberg_spark as ice
from benchmarks.stress_log import (
    BEGAN,
    BROKEN,
    DONE,
    UNKNOWN,
    Change,
    Told,
    recorded,
)
from iceberg_spark.spec.snapshot import Snapshot

SCHEMA = "id bigint, n bigint, op string"
Row = tuple[int, int, str]

OPERATIONS: Mapping[str, frozenset[str]] = {
    "append": frozenset({"append"}),
    "delete": frozenset({"delete", "overwrite"}),
    "upsert": frozenset({"delete", "overwrite"}),
    "merge-add": frozenset({"append", "overwrite"}),
    "merge-replace": frozenset({"append", "overwrite"}),
    "merge-delete": frozenset({"delete", "overwrite"}),
}


class Model:
    """The rows as a serial history leaves them: by id, every (n, op)."""

    def __init__(self) -> None:
        self._rows: dict[int, list[tuple[int, str]]] = {}

    def rows(self) -> Counter[Row]:
        return Counter((id_, n, op) for id_, all_ in self._rows.items() for n, op in all_)

    def do(self, change: Change) -> None:
        """Apply a change of `SCHEMA`'s rows."""
        given = change.values
        new = dict(zip(given.get("ids", ()), given.get("n", ()), strict=True))
        match change.verb:
            case "append":
                self._add(new, change.op)
            case "delete":
                self._drop([id_ for id_ in self._rows if given["low"] <= id_ < given["high"]])
            case "upsert":
                self._drop((*new, *given["gone"]))
                self._add(new, change.op)
            case "merge-add":
                olds = {id_: self._rows.get(id_, [(0, "")]) for id_ in new}
                more = {id_: [(n + new[id_], change.op) for n, _ in olds[id_]] for id_ in new}
                self._rows |= more
            case "merge-replace":
                times = {id_: len(self._rows.get(id_, [()])) for id_ in new}
                self._rows |= {id_: [(n, change.op)] * times[id_] for id_, n in new.items()}
            case "merge-delete":
                self._drop(new)
            case verb:
                raise ValueError(f"No such verb: {verb}")

    def _add(self, new: Mapping[int, int], op: str) -> None:
        for id_, n in new.items():
            self._rows.setdefault(id_, []).append((n, op))

    def _drop(self, ids: Iterable[int]) -> None:
        for id_ in ids:
            self._rows.pop(id_, None)


@dataclass(slots=True)
class Findings:
    """What a history shows; `violations` ought to be empty."""

    commits: int = 0
    by_verb: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    lost: int = 0
    compared: int = 0
    rows: int = 0
    violations: list[str] = field(default_factory=list)


def check_history(table: ice.Table, told: Told, *, samples: int = 20) -> Findings:
    """Replay all snapshots; compare rows at the last one and at `samples` others, evenly spread."""
    found = Findings()
    chain = _chain(table, found)
    found.commits = len(chain)
    found.retries = sum(_attempt(snapshot) - 1 for snapshot in chain)
    _check_told(told, chain, found)
    shown = {round(place * (len(chain) - 1) / max(samples, 1)) for place in range(samples + 1)}
    model = Model()
    for place, snapshot in enumerate(chain):
        _replay(model, snapshot, found)
        if place in shown:
            _compare(table, snapshot, model.rows(), found)
    return found


def table_rows(table: ice.Table, snapshot_id: int | None = None) -> Counter[Row]:
    """Return the rows of a snapshot, each with how often it is there."""
    found = table.scan(snapshot_id=snapshot_id).to_arrow()
    columns: Sequence[list[Any]] = [found[name].to_pylist() for name in ("id", "n", "op")]
    return Counter(zip(*columns, strict=True))


def _chain(table: ice.Table, found: Findings) -> list[Snapshot]:
    """Return the ancestors of the current snapshot, oldest first: all snapshots that there are."""
    metadata = table.metadata
    chain: list[Snapshot] = []
    current = metadata.current_snapshot
    while current is not None:
        chain.append(current)
        parent = current.parent_snapshot_id
        current = None if parent is None else metadata.snapshots[parent]
    chain.reverse()
    if len(chain) != len(metadata.snapshots):
        found.violations.append(
            f"{len(metadata.snapshots)} snapshots are there, {len(chain)} of them in one chain"
        )
    numbers = [snapshot.sequence_number for snapshot in chain]
    if numbers != list(range(1, len(chain) + 1)):
        found.violations.append(f"Sequence numbers along the chain are {numbers}")
    if [entry.snapshot_id for entry in metadata.snapshot_log] != [s.snapshot_id for s in chain]:
        found.violations.append("The snapshot log is another history than the snapshots'")
    return chain


def _attempt(snapshot: Snapshot) -> int:
    """Return at which try a commit won: its manifest list is snap-<id>-<try>-<uuid>.avro."""
    name = (snapshot.manifest_list or "").rpartition("/")[2]
    return int(name.split("-")[2])


def _check_told(told: Told, chain: Iterable[Snapshot], found: Findings) -> None:
    made: dict[str, int] = {}
    for snapshot in chain:
        change = recorded(snapshot)
        if change is None:
            continue
        if change.op in made:
            found.violations.append(f"{change.op} is in two snapshots")
        made[change.op] = snapshot.snapshot_id
    for op, (end, more) in told.ends.items():
        if end == BROKEN:
            found.violations.append(f"{op} failed: {more}")
        elif end == DONE and str(made.get(op)) != more:
            found.lost += 1
            found.violations.append(f"{op} was acknowledged as snapshot {more}: {made.get(op)}")
        elif end not in (DONE, BEGAN, UNKNOWN) and op in made:
            found.violations.append(f"{op} landed, and the worker was told '{end}'")
    for op in made.keys() - told.ends.keys():
        found.violations.append(f"{op} landed, and no worker began it")


def _replay(model: Model, snapshot: Snapshot, found: Findings) -> None:
    change = recorded(snapshot)
    if change is None:
        found.by_verb["maintenance"] += 1
        if snapshot.operation != "replace":
            found.violations.append(f"Nobody recorded snapshot {snapshot.snapshot_id}")
        return
    found.by_verb[change.verb] += 1
    if snapshot.operation not in OPERATIONS[change.verb]:
        found.violations.append(f"{change.op}, {change.verb}, made a '{snapshot.operation}'")
    model.do(change)


def _compare(table: ice.Table, snapshot: Snapshot, wanted: Counter[Row], found: Findings) -> None:
    found.compared += 1
    found.rows = wanted.total()
    there = table_rows(table, snapshot.snapshot_id)
    if there != wanted:
        found.violations.append(
            f"Snapshot {snapshot.snapshot_id} (number {snapshot.sequence_number}) has "
            f"{sorted((there - wanted).elements())[:5]} too much and lacks "
            f"{sorted((wanted - there).elements())[:5]}"
        )
