"""A commit whose connection to Postgres is cut, at each statement, before and after COMMIT."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from tenacity import nap

import iceberg_spark as ice
from iceberg_spark import TableCatalog
from iceberg_spark.catalog.sql_catalog import engine_of
from iceberg_spark.errors import StorageError
from tests.servers.postgres import Postgres
from tests.unit.api.tables import files_below, ids, rows


@dataclass
class Cuts:
    """The moments of a database's transactions in order; the connection is cut at some of them."""

    server: Postgres
    at: frozenset[int] = frozenset()
    moments: list[str] = field(default_factory=list)

    def reached(self, moment: str, connection: Any) -> None:
        """Count a moment; where it is one of those end the connection, as a server does."""
        self.moments.append(moment)
        if len(self.moments) - 1 in self.at:
            process = connection.driver_connection.info.backend_pid
            self.server.ran(f"SELECT pg_terminate_backend({process}, 10000)")


@pytest.fixture
def catalog(postgres: Postgres, tmp_path: Path) -> TableCatalog:
    properties = {"uri": postgres.uri, "warehouse": str(tmp_path)}
    made = ice.load_catalog(f"c{uuid.uuid4().hex}", **properties)
    made.create_namespace("db")
    return made


@pytest.fixture
def cuts(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cuts]:
    monkeypatch.setattr(nap.time, "sleep", lambda _: None)
    cuts = Cuts(postgres)
    engine = engine_of(sqlalchemy.make_url(postgres.uri))
    with watched(engine, cuts):
        yield cuts


@contextmanager
def watched(engine: Any, cuts: Cuts) -> Iterator[None]:
    def before(connection: Any, _: object, statement: str, *__: object) -> None:
        cuts.reached(f"before {statement.split(maxsplit=1)[0]}", connection.connection)

    def after(connection: Any, _: object, statement: str, *__: object) -> None:
        cuts.reached(f"after {statement.split(maxsplit=1)[0]}", connection.connection)

    commit = engine.dialect.do_commit

    def do_commit(connection: Any) -> None:
        cuts.reached("before COMMIT", connection)
        commit(connection)
        cuts.reached("after COMMIT", connection)
        if len(cuts.moments) - 1 in cuts.at:  # the answer never came
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")

    sqlalchemy.event.listen(engine, "before_cursor_execute", before)
    sqlalchemy.event.listen(engine, "after_cursor_execute", after)
    engine.dialect.do_commit = do_commit
    try:
        yield
    finally:
        engine.dialect.do_commit = commit
        sqlalchemy.event.remove(engine, "before_cursor_execute", before)
        sqlalchemy.event.remove(engine, "after_cursor_execute", after)


def cut(cuts: Cuts, change: Callable[[], object], moment: int) -> bool:
    """Make a change whose connection is cut at a moment; whether it was made."""
    cuts.moments, cuts.at = [], frozenset({moment})
    try:
        change()
    except StorageError:
        return False
    finally:
        cuts.at = frozenset()
    return True


NO_MOMENT = -1


def test_an_append_lands_once_wherever_its_connection_is_cut(
    catalog: TableCatalog, cuts: Cuts, tmp_path: Path
) -> None:
    table = catalog.create_table("db.t", "id bigint")
    assert cut(cuts, lambda: table.append(rows(id=[NO_MOMENT])), NO_MOMENT)
    whole = cuts.moments
    moved = whole.index("before UPDATE")
    assert whole[moved:] == ["before UPDATE", "after UPDATE", "before COMMIT", "after COMMIT"]
    landed = [
        moment
        for moment in range(len(whole))
        if cut(cuts, partial(table.append, rows(id=[moment])), moment)
    ]
    assert set(landed) >= set(range(moved, len(whole)))
    newest = catalog.load_table("db.t")
    assert ids(newest) == sorted([NO_MOMENT, *landed])
    log = [entry.metadata_file for entry in newest.metadata.metadata_log]
    written = {str(tmp_path / name) for name in files_below(tmp_path) if name.endswith(".json")}
    assert written == {*log, newest.metadata_location}


def test_a_creation_lands_once_wherever_its_connection_is_cut(
    catalog: TableCatalog, cuts: Cuts
) -> None:
    assert cut(cuts, lambda: catalog.create_table("db.whole", "id bigint"), NO_MOMENT)
    whole = cuts.moments
    inserted = whole.index("before INSERT")
    landed = []
    for moment in range(len(whole)):
        name = f"db.t{moment:02}"
        if cut(cuts, partial(catalog.create_table, name, "id bigint"), moment):
            landed.append(("db", f"t{moment:02}"))
            assert ids(catalog.load_table(name)) == []
    assert len(landed) >= len(whole) - inserted
    assert catalog.list_tables("db") == [*landed, ("db", "whole")]


def test_connections_that_died_in_the_pool_are_made_anew(
    catalog: TableCatalog, postgres: Postgres
) -> None:
    table = catalog.create_table("db.t", "id bigint")
    postgres.ran(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    table.append(rows(id=[1]))
    assert ids(table) == [1]
