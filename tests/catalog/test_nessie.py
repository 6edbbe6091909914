"""Nessie, whose answers are its own: a REST catalog that is not built on Iceberg's code."""

import json
import os
import random
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table, TableCatalog
from iceberg_spark.errors import (
    CommitFailedException,
    NamespaceNotEmptyError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnsupportedError,
    ValidationException,
)
from tests.servers.nessie import Nessie

pytestmark = pytest.mark.xdist_group("nessie")


@pytest.fixture
def catalog(nessie: Nessie) -> TableCatalog:
    return ice.load_catalog("nessie", **nessie.properties)


@pytest.fixture
def db(catalog: TableCatalog) -> str:
    name = f"d{uuid.uuid4().hex[:8]}"
    catalog.create_namespace(name)
    return name


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [str(each) for each in ids]})


def ids(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def test_a_table_is_made_changed_evolved_renamed_and_dropped(catalog: TableCatalog, db: str):
    """New columns and specs have the ids that Nessie takes from the request."""
    table = catalog.create_table(f"{db}.t", "id bigint, s string", partition_by="bucket(2, id)")
    table.append(rows(1, 2, 3))
    other = catalog.load_table(f"{db}.t")
    other.delete("id = 2")
    table.append(rows(4))  # on a handle that others have overtaken
    table.update_schema().add_column("n", "int").commit()
    table.update_spec().add_field("n").commit()
    table.append(pa.table({"id": [5], "s": ["5"], "n": pa.array([7], pa.int32())}))
    found = catalog.load_table(f"{db}.t")
    assert ids(found) == [1, 3, 4, 5] and found.scan().to_arrow()["n"].to_pylist().count(7) == 1
    with pytest.raises(ValidationException, match=r"gc\.enabled"):  # it shows one snapshot of four
        found.maintenance.remove_orphan_files(allow_recent=True)
    catalog.rename_table(f"{db}.t", f"{db}.u")
    assert catalog.list_tables(db) == [(db, "u")] and not catalog.table_exists(f"{db}.t")
    assert ids(catalog.load_table(f"{db}.u")) == [1, 3, 4, 5]
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(db)
    catalog.drop_table(f"{db}.u")
    with pytest.raises(NoSuchTableError):
        catalog.load_table(f"{db}.u")
    catalog.drop_namespace(db)


def test_a_name_that_is_taken_is_not_taken_again(catalog: TableCatalog, db: str):
    catalog.create_table(f"{db}.t", "id bigint").append(pa.table({"id": [1]}))
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table(f"{db}.t", "id bigint")
    assert ids(catalog.load_table(f"{db}.t")) == [1]


def test_two_tables_change_at_once_or_not_at_all(catalog: TableCatalog, db: str):
    for name in ("a", "b"):
        catalog.create_table(f"{db}.{name}", "id bigint, s string")
    with ice.transaction(catalog) as tx:
        tx.load_table(f"{db}.a").append(rows(1))
        tx.load_table(f"{db}.b").append(rows(2))
    conflict = (CommitFailedException, ValidationException)
    with pytest.raises(conflict), ice.transaction(catalog) as tx:  # noqa: PT012
        tx.load_table(f"{db}.a").append(rows(3))
        tx.load_table(f"{db}.b").delete("id = 2")
        catalog.load_table(f"{db}.b").delete("id = 2")  # another comes first
    assert ids(catalog.load_table(f"{db}.a")) == [1]
    assert ids(catalog.load_table(f"{db}.b")) == []


def test_what_it_leaves_out_is_said(catalog: TableCatalog, db: str):
    """It says yes to a tag or a branch, and keeps none; it has neither version 3 nor views."""
    table = catalog.create_table(f"{db}.t", "id bigint, s string")
    table.append(rows(1))
    head = table.current_snapshot()
    assert head is not None
    with pytest.raises(UnsupportedError, match="no branch or tag eoy"):
        table.manage_snapshots().create_tag(head.snapshot_id, "eoy").commit()
    with pytest.raises(UnsupportedError, match="no branch or tag side"), table.transaction() as tx:  # noqa: PT012
        tx.manage_snapshots().create_branch(head.snapshot_id, "side").commit()
        tx.append(rows(2), branch="side")  # it would put these rows into main
    with pytest.raises(UnsupportedError, match="version 2, and 3"):
        catalog.create_table(f"{db}.v3", "id bigint", properties={"format-version": "3"})
    assert not catalog.table_exists(f"{db}.v3")
    with pytest.raises(UnsupportedError):
        catalog.list_views(db)
    assert ids(catalog.load_table(f"{db}.t")) == [1]


WRITER = """
import json, sys
import pyarrow as pa
import iceberg_spark as ice
given, first, log = json.loads(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], "a", buffering=1)
for number in range(first, first + 1000):
    print("began", number, file=log)
    try:
        table = ice.load_catalog("nessie", **given).load_table("killed.t")
        table.append(pa.table({"id": [number]}))
    except ice.errors.CommitStateUnknownException:
        print("unknown", number, file=log)
    except ice.errors.IcebergError:
        print("refused", number, file=log)
    else:
        print("done", number, file=log)
"""


def killed_writers(properties: dict[str, str], logs: Path, kills: int) -> None:
    """Six writers; each is killed some time after its first commit, and followed by another."""
    chance = random.Random(7)
    running: dict[Path, tuple[subprocess.Popen[bytes], float]] = {}
    started = killed = 0
    while killed < kills:
        while len(running) < 6:
            log = logs / str(started)
            log.touch()
            given = [json.dumps(properties), str(1000 * started), str(log)]
            running[log] = subprocess.Popen([sys.executable, "-c", WRITER, *given]), 0.0
            started += 1
        time.sleep(0.05)
        for log, (writer, at) in list(running.items()):
            assert writer.poll() is None, "a writer ended by itself"
            if not at and len(log.read_text().splitlines()) > 1:
                running[log] = writer, time.monotonic() + chance.uniform(0.5, 6)
            elif at and time.monotonic() > at:
                end(writer)
                del running[log]
                killed += 1
    for writer, _ in running.values():
        end(writer)


def end(writer: subprocess.Popen[bytes]) -> None:
    writer.kill()
    writer.wait()


def check_killed_writers_lose_and_double_nothing(nessie: Nessie, tmp_path: Path) -> None:
    """Its history is not shown, so rows tell: each that was done once, and no other twice."""
    catalog = ice.load_catalog("nessie", **nessie.properties)
    catalog.create_namespace("killed")
    often = {"commit.retry.num-retries": "20"}
    table = catalog.create_table("killed.t", "id bigint", properties=often)
    table.append(pa.table({"id": [-1]}))  # it takes two first appends, and keeps one
    killed_writers(nessie.properties, tmp_path, 12)
    told: dict[str, set[int]] = {}
    for line in (line for log in tmp_path.iterdir() for line in log.read_text().splitlines()):
        said, _, number = line.partition(" ")
        told.setdefault(said, set()).add(int(number))
    found = ids(catalog.load_table("killed.t"))
    assert len(found) == len(set(found)), "doubled"
    assert told["done"] <= set(found), "lost"
    assert not told.get("refused", set()) & set(found), "refused, and landed"
    print({said: len(numbers) for said, numbers in told.items()})


if os.environ.get("KILLS") == "all":  # `make kills`: a minute
    test_killed_writers_lose_and_double_nothing = check_killed_writers_lose_and_double_nothing
