"""An interrupt at every line of a commit to a REST catalog, over the network, and to a database."""

from __future__ import annotations

import linecache
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark import TableCatalog
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog
from tests.faults.test_interrupts import Interrupter, Line, ended
from tests.faults.verbs import rows
from tests.unit.catalog.rest.small_server import SmallServer, on_network

EVERY = os.environ.get("FAULTS") == "all"
STEP = 1 if EVERY else 61
KINDS = ("rest", "sqlite")


@dataclass
class Tried:
    """A catalog whose tables are made anew for each run."""

    catalog: TableCatalog
    kind: type[Any]
    numbers: Iterator[int] = field(default_factory=count)

    def made(self) -> str:
        """Return the name of a table with one row; another one has its name and `_2`."""
        name = f"db.t{next(self.numbers)}"
        for each in (name, f"{name}_2"):
            self.catalog.create_table(each, "id bigint, k string").append(rows(1))
        return name

    def ids(self, name: str) -> list[int]:
        return sorted(self.catalog.load_table(name).scan().to_arrow()["id"].to_pylist())


@pytest.fixture
def tried(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tried]:
    if request.param == "sqlite":
        made = ice.load_catalog(
            "c", type="sql", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path)
        )
        made.create_namespace("db")
        yield Tried(made, PointerCatalog)
        return
    with on_network(SmallServer(tmp_path)) as uri:
        yield Tried(ice.load_catalog("c", type="rest", uri=uri), RestCatalog)


def append(tried: Tried, name: str) -> None:
    tried.catalog.load_table(name).append(rows(2))


def appended(tried: Tried, name: str) -> bool:
    found = tried.ids(name)
    assert found in ([1], [1, 2])
    return found == [1, 2]


def create(tried: Tried, name: str) -> None:
    tried.catalog.create_table(f"{name}_new", "id bigint")


def created(tried: Tried, name: str) -> bool:
    there = tried.catalog.table_exists(f"{name}_new")
    return there and tried.ids(f"{name}_new") == []


def both(tried: Tried, name: str) -> None:
    with ice.transaction(tried.catalog) as tx:
        tx.load_table(name).append(rows(2))
        tx.load_table(f"{name}_2").append(rows(3))


def both_changed(tried: Tried, name: str) -> bool:
    found = tried.ids(name), tried.ids(f"{name}_2")
    assert found in (([1], [1]), ([1, 2], [1, 3]))
    return found[0] == [1, 2]


Verb = Callable[[Tried, str], None]
VERBS: dict[str, tuple[Verb, Callable[[Tried, str], bool]]] = {
    "append": (append, appended),
    "create": (create, created),
    "two tables": (both, both_changed),
}


@pytest.mark.parametrize("tried", KINDS, indirect=True)
@pytest.mark.parametrize("verb", VERBS if EVERY else ["append"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # interrupts, too
def test_an_interrupt_at_any_line_after_the_hand_over_removes_nothing(tried: Tried, verb: str):
    do, is_done = VERBS[verb]
    undisturbed = Interrupter(None, tried.kind)
    for _ in range(2):  # the first one loads modules
        name = tried.made()
        undisturbed = Interrupter(None, tried.kind)
        assert undisturbed.run(partial(do, tried, name)) is None and is_done(tried, name)
    wrong, ends = [], Counter[str]()
    lines = list(undisturbed.lines)
    share = lines[len(verb) % STEP :: STEP]
    for line in share:
        name = tried.made()
        run = Interrupter(line, tried.kind)
        error = run.run(partial(do, tried, name))
        end = judged(tried, name, is_done, error, line, run)
        ends[end.partition(":")[0]] += 1
        if end.startswith(("broken", "untrue")):
            wrong.append(f"{line} {linecache.getline(line.file, line.number).strip()}: {end}")
    counts = ", ".join(f"{number} {end}" for end, number in sorted(ends.items()))
    print(f"{verb}: {len(share)} of {len(lines)} lines interrupted: {counts}")
    assert not wrong, "\n".join(wrong[:10])
    assert ends["unknown"] > 5


def judged(
    tried: Tried,
    name: str,
    is_done: Callable[[Tried, str], bool],
    error: BaseException | None,
    line: Line,
    run: Interrupter,
) -> str:
    """Return what became of a verb, "broken" where the table is neither as before nor as after."""
    try:
        landed = is_done(tried, name)
    except Exception as broken:  # noqa: BLE001
        return f"broken: {broken!r} after {error!r}"
    end = ended(error, line, landed=landed, refused=run.refused)
    return f"{end}: {error!r}, landed: {landed}"
