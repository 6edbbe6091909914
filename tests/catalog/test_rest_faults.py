"""A REST catalog whose answers get lost or go wrong: nothing is lost, doubled, deleted early."""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table, TableCatalog
from iceberg_spark.api.view import views_of
from iceberg_spark.errors import (
    AlreadyExistsError,
    CommitStateUnknownException,
    InvalidInputError,
    NotFoundError,
    ServiceUnavailableError,
    ValidationException,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import LongType, NestedField
from iceberg_spark.spec.view import NewView, ViewRepresentation, ViewVersion
from tests.servers.fault_proxy import Fault, Proxy, fault_proxy
from tests.servers.rest_server import RestServer

pytestmark = pytest.mark.xdist_group("rest")
TIMEOUTS = {
    "rest.client.socket-timeout-ms": "1000",
    "rest.client.max-retries": "3",
    "rest-metrics-reporting-enabled": "false",  # a report would take the fault for itself
}


@dataclass(frozen=True, slots=True)
class Faulty:
    """One namespace, seen through a proxy and past it."""

    db: str
    proxy: Proxy
    catalog: TableCatalog
    truth: TableCatalog

    def name(self, table: str) -> str:
        return f"{self.db}.{table}"

    @property
    def empty(self) -> str:
        return f"{self.db}empty"


@pytest.fixture
def faulty(rest: RestServer) -> Iterator[Faulty]:
    db = f"f{uuid.uuid4().hex[:8]}"
    truth = ice.load_catalog("c", type="rest", uri=rest.uri)
    truth.create_namespace(db)
    with fault_proxy(rest.uri) as proxy:
        catalog = ice.load_catalog("c", type="rest", uri=proxy.uri, **TIMEOUTS)
        made = catalog.create_table(f"{db}.t", "id bigint")
        made.append(rows(1))
        yield Faulty(db, proxy, catalog, truth)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def data_files(table: Table) -> int:
    return len(list(Path(table.location()).glob("data/**/*.parquet")))


def append(f: Faulty) -> None:
    f.catalog.load_table(f.name("t")).append(rows(2))


def create(f: Faulty) -> None:
    f.catalog.create_table(f.name("new"), "id bigint")


def add_column(f: Faulty) -> None:
    f.catalog.load_table(f.name("t")).update_schema().add_column("n", "int").commit()


def append_to_both(f: Faulty) -> None:
    f.catalog.create_table(f.name("second"), "id bigint")
    with ice.transaction(f.catalog) as tx:
        tx.load_table(f.name("t")).append(rows(2))
        tx.load_table(f.name("second")).append(rows(3))


def done_to_both(f: Faulty) -> bool:
    second = f.truth.load_table(f.name("second"))
    both = done_append(f)
    assert ids(second) == ([3] if both else []), f.proxy.asked
    return both


def drop_namespace(f: Faulty) -> None:
    f.truth.create_namespace(f.empty)
    f.catalog.drop_namespace(f.empty)


def new_view(sql: str) -> NewView:
    text = (ViewRepresentation(sql, "spark"),)
    version = ViewVersion(1, time.time_ns() // 1_000_000, 0, text, ("db",))
    return NewView(Schema(NestedField(1, "a", LongType())), version)


def create_view(f: Faulty) -> None:
    views_of(f.catalog._catalog).create(f.name("v"), new_view("SELECT 1"))


def replace_view(f: Faulty) -> None:
    made = views_of(f.truth._catalog).create(f.name("v"), new_view("SELECT 1"))
    views_of(f.catalog._catalog).replace(f.name("v"), made, new_view("SELECT 2"))


def is_replaced(f: Faulty) -> bool:
    view = f.truth.load_view(f.name("v"))
    assert len(view.versions) == len(view.history()) <= 2
    return view.sql_for("spark") == "SELECT 2"


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, its request that goes wrong, and whether it was done."""

    run: Callable[[Faulty], object]
    method: str
    path: str
    is_done: Callable[[Faulty], bool]


def done_append(f: Faulty) -> bool:
    table = f.truth.load_table(f.name("t"))
    found = ids(table)
    assert found in ([1], [1, 2]) and len(table.snapshots()) == len(found)
    assert data_files(table) == len(found)
    return found == [1, 2]


VERBS = {
    "append": Verb(append, "POST", "/tables/t", done_append),
    "two tables": Verb(append_to_both, "POST", "/transactions/commit", done_to_both),
    "create": Verb(create, "POST", "/tables/new", lambda f: f.truth.table_exists(f.name("new"))),
    "column": Verb(
        add_column,
        "POST",
        "/tables/t",
        lambda f: "n" in f.truth.load_table(f.name("t")).schema().column_names,
    ),
    "rename": Verb(
        lambda f: f.catalog.rename_table(f.name("t"), f.name("u")),
        "POST",
        "/tables/rename",
        lambda f: f.truth.list_tables(f.db) == [(f.db, "u")],
    ),
    "drop": Verb(
        lambda f: f.catalog.drop_table(f.name("t")),
        "DELETE",
        "/tables/t",
        lambda f: not f.truth.table_exists(f.name("t")),
    ),
    "namespace": Verb(
        lambda f: f.catalog.create_namespace(f"{f.db}.deep"),
        "POST",
        "/namespaces",
        lambda f: f.truth.namespace_exists(f"{f.db}.deep"),
    ),
    "view": Verb(create_view, "POST", "/views", lambda f: f.truth.view_exists(f.name("v"))),
    "view replaced": Verb(replace_view, "POST", "/views/v", is_replaced),
    "load": Verb(lambda f: f.catalog.load_table(f.name("t")), "GET", "/tables/t", lambda _: True),
    "list": Verb(
        lambda f: f.catalog.list_tables(f.db) == [(f.db, "t")] or pytest.fail("another list"),
        "GET",
        "/tables",
        lambda _: True,
    ),
}
MORE = {
    "register": Verb(
        lambda f: f.catalog.register_table(
            f.name("r"), f.truth.load_table(f.name("t")).metadata_location
        ),
        "POST",
        "/register",
        lambda f: f.truth.table_exists(f.name("r")) and ids(f.truth.load_table(f.name("r"))) == [1],
    ),
    "properties": Verb(
        lambda f: f.catalog.update_namespace_properties(f.db, updates={"k": "v"}),
        "POST",
        "/properties",
        lambda f: f.truth.load_namespace_properties(f.db).get("k") == "v",
    ),
    "namespace dropped": Verb(
        drop_namespace, "DELETE", "/namespaces/", lambda f: not f.truth.namespace_exists(f.empty)
    ),
    "purge": Verb(
        lambda f: f.catalog.purge_table(f.name("t")),
        "DELETE",
        "/tables/t",
        lambda f: not f.truth.table_exists(f.name("t")),
    ),
}
"""Verbs that go wrong in two ways only, to save time: all seventeen were tried."""
REFUSED = {Fault.REDIRECT: InvalidInputError, Fault.UNAVAILABLE: ServiceUnavailableError}
"""A redirect is not followed, and 503 without Retry-After repeated for reads only."""
SEEN_TWICE = (
    "rename", "drop", "namespace", "view", "view replaced", "register", "namespace dropped",
)  # fmt: skip
CASES = [
    *((verb, fault) for fault in Fault for verb in VERBS),
    *((verb, Fault.DROPPED_AFTER) for verb in MORE),
    *((verb, Fault.TWICE) for verb in MORE if verb != "purge"),  # two may take longer than it waits
]


@pytest.mark.parametrize(("verb", "fault"), CASES)
def test_a_request_that_goes_wrong_once(verb: str, fault: Fault, faulty: Faulty) -> None:
    tried = (VERBS | MORE)[verb]
    faulty.proxy.once(fault, tried.method, tried.path)
    if fault in REFUSED and not (fault is Fault.UNAVAILABLE and tried.method == "GET"):
        with pytest.raises(REFUSED[fault]):
            tried.run(faulty)
        assert tried.method == "GET" or not tried.is_done(faulty)
        return
    if fault is Fault.TWICE and verb in SEEN_TWICE:
        with pytest.raises(
            (NotFoundError, AlreadyExistsError, ValidationException)
        ):  # the second one's answer
            tried.run(faulty)
    else:
        tried.run(faulty)
    assert tried.is_done(faulty)


@pytest.mark.parametrize("fault", [Fault.DROPPED_AFTER, Fault.GATEWAY_AFTER, Fault.TRUNCATED_AFTER])
def test_a_commit_that_nobody_can_look_for_is_unknown_and_nothing_is_deleted(
    fault: Fault, faulty: Faulty
) -> None:
    table = faulty.catalog.load_table(faulty.name("t"))
    faulty.proxy.always({"POST": fault, "GET": Fault.GATEWAY})
    with pytest.raises(CommitStateUnknownException, match="no file was removed"):
        table.append(rows(2))
    assert ids(faulty.truth.load_table(faulty.name("t"))) == [1, 2]


@pytest.mark.parametrize("fault", [Fault.DROPPED, Fault.GATEWAY])
def test_a_commit_that_never_gets_through_lands_nowhere(fault: Fault, faulty: Faulty) -> None:
    table = faulty.catalog.load_table(faulty.name("t"))
    faulty.proxy.always({"POST": fault})
    with pytest.raises(CommitStateUnknownException):  # a request may be on its way still
        table.append(rows(2))
    newest = faulty.truth.load_table(faulty.name("t"))
    assert ids(newest) == [1] and data_files(newest) == 2


def test_a_server_that_is_gone_has_taken_nothing(faulty: Faulty, tmp_path: Path) -> None:
    gone = ice.load_catalog("c", type="rest", uri="http://127.0.0.1:1", **TIMEOUTS)
    with pytest.raises(ServiceUnavailableError, match="Can't reach GET"):
        gone.load_table("db.t")


def test_another_commit_meanwhile_is_not_taken_for_ours(faulty: Faulty) -> None:
    table = faulty.catalog.load_table(faulty.name("t"))
    faulty.truth.load_table(faulty.name("t")).append(rows(3))
    faulty.proxy.once(Fault.DROPPED, "POST", "/tables/t")
    table.append(rows(2))
    newest = faulty.truth.load_table(faulty.name("t"))
    assert ids(newest) == [1, 2, 3] and len(newest.snapshots()) == 3


def test_a_load_is_one_request_and_an_append_another(faulty: Faulty) -> None:
    faulty.proxy.asked.clear()
    table = faulty.catalog.load_table(faulty.name("t"))
    table.append(rows(2))
    table.append(rows(3))
    assert [one.partition(" ")[0] for one in faulty.proxy.asked] == ["GET", "POST", "POST"]
    assert ids(table) == [1, 2, 3]
