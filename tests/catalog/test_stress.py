"""Processes that are killed while they change one table leave it as its history says."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from benchmarks.stress import make_table, stress
from benchmarks.stress_history import check_history, table_rows
from benchmarks.stress_log import BEGAN, CONFLICT, DONE, Change, Told
from tests.servers.azure_server import azure_server
from tests.servers.gcs_server import gcs_server
from tests.servers.s3_servers import versitygw_server

STORES = {"bucket": "s3", "google": "gs", "azure": "abfss"}
"""Kinds that are a store of objects with the bucket `bucket`, and their schemes."""


@contextmanager
def store(kind: str) -> Iterator[dict[str, str]]:
    """The properties of a store, while it is served."""
    match kind:
        case "google":
            with gcs_server() as properties:
                yield properties
        case "azure":
            with azure_server() as properties:
                yield properties
        case _:
            with versitygw_server() as server:
                yield server.properties


HIVE = pytest.param("hive", marks=pytest.mark.xdist_group("hive"))
REST = pytest.param("rest", marks=pytest.mark.xdist_group("rest"))
AMAZONS = [
    pytest.param(kind, marks=pytest.mark.xdist_group("amazon")) for kind in ("glue", "dynamodb")
]
LONG = os.environ.get("KILLS") == "all"
"""Workers on Amazon's services need seconds to start; `make kills` gives each kind a minute."""
KILLS_S = int(os.environ.get("KILLS_SECONDS", "60"))
KINDS = [
    "folder",
    "bucket",
    "sqlite",
    "postgres",
    HIVE,
    REST,
    *((*AMAZONS, "google", "azure") if LONG else ()),
]


def properties_of(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """What the catalog of a kind is made from, at a server where it has one."""
    warehouse = tmp_path / "wh"
    match kind:
        case "postgres":
            uri = request.getfixturevalue("postgres").uri
            return {"uri": uri, "warehouse": str(warehouse)}
        case "hive":
            return dict(request.getfixturevalue("hive").properties(warehouse))
        case "rest":
            return {"uri": request.getfixturevalue("rest").uri}
        case "glue" | "dynamodb":
            return dict(request.getfixturevalue("amazon").properties(kind, warehouse))
        case _:
            return {"uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(warehouse)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed_processes_leave_what_the_history_says(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with store(kind) if kind in STORES else nullcontext() as properties:
        check_kills(kind, properties, request, tmp_path)


def check_kills(
    kind: str, of_store: dict[str, str] | None, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place, properties = str(tmp_path), {}
    if of_store is not None:
        place, properties = f"{STORES[kind]}://bucket", of_store
    elif kind != "folder":
        properties = properties_of(kind, request, tmp_path)
        place = "stress.killed"
        ice.load_catalog("stress", **properties).create_namespace("killed")
    seconds, processes = (4, 6) if kind in {"postgres", "hive"} else (6, 8)
    seconds = KILLS_S if LONG else seconds
    for turn, longer in enumerate((1, 8)):  # on a busy machine few commits land in seconds
        name = f"{place}.t{turn}" if place == "stress.killed" else f"{place}/t{turn}"
        logs = tmp_path / f"logs{turn}"
        logs.mkdir()
        make_table(name, properties=properties)
        outcome = stress(
            name, logs, seconds=seconds * longer, processes=processes, samples=6,
            properties=properties,
        )  # fmt: skip
        assert outcome.found.violations == []
        if outcome.found.commits > 1:
            break
    assert outcome.kills > 0 and outcome.found.commits > 1
    assert outcome.found.compared == min(7, outcome.found.commits)
    assert sum(table_rows(ice.load_table(name, **properties)).values()) == outcome.found.rows


def rows(change: Change) -> pa.Table:
    ids, n = change.values["ids"], change.values["n"]
    return pa.table({"id": ids, "n": n, "op": [change.op] * len(ids)})


def history(tmp_path: Path) -> tuple[ice.Table, Told]:
    """One append that its worker was told of."""
    table = make_table(str(tmp_path / "t"))
    change = Change("w1-1", "append", {"ids": [1, 2], "n": [5, 6]})
    table.append(rows(change), snapshot_properties=change.properties)
    head = table.current_snapshot()
    assert head is not None
    return table, Told({"w1-1": (DONE, str(head.snapshot_id))})


def test_a_sound_history_has_no_violation(tmp_path: Path) -> None:
    table, told = history(tmp_path)
    told.ends["w2-1"] = (BEGAN, "")  # cut off before its commit
    found = check_history(table, told)
    assert (found.violations, found.lost, found.commits, found.rows) == ([], 0, 1, 2)


@pytest.mark.parametrize(
    ("op", "end", "shown"),
    [
        ("w2-1", (DONE, "17"), "acknowledged as snapshot 17"),
        ("w1-1", (CONFLICT, ""), "landed, and the worker was told"),
    ],
)
def test_a_lost_commit_and_a_refused_one_that_landed_are_found(
    op: str, end: tuple[str, str], shown: str, tmp_path: Path
) -> None:
    table, told = history(tmp_path)
    told.ends[op] = end
    (violation,) = check_history(table, told).violations
    assert shown in violation


def test_rows_that_the_history_does_not_give_are_found(tmp_path: Path) -> None:
    table, told = history(tmp_path)
    change = Change("w1-2", "append", {"ids": [3], "n": [7]})
    half = pa.table({"id": [3], "n": [8], "op": ["w1-2"]})
    table.append(half, snapshot_properties=change.properties)
    head = table.current_snapshot()
    assert head is not None
    told.ends["w1-2"] = (DONE, str(head.snapshot_id))
    (violation,) = check_history(table, told).violations
    assert "(3, 8, 'w1-2')" in violation and "(3, 7, 'w1-2')" in violation
