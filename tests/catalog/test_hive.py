"""Tables in a real Hive metastore: answers that are lost, locks, and what Hive itself is shown."""

import socket
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tenacity import nap
from thrift.transport.TTransport import TTransportException

import iceberg_spark as ice
from iceberg_spark import TableCatalog
from iceberg_spark.catalog.hive.metastore import Metastore, hive
from iceberg_spark.errors import (
    CommitFailedException,
    IcebergError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    StorageError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from tests.servers.hive_metastore import HiveMetastore
from tests.unit.api.tables import files_below, ids, rows

pytestmark = pytest.mark.xdist_group("hive")  # one metastore for all of them

UNLOCKED = {"engine.hive.lock-enabled": "false"}


@pytest.fixture
def db() -> str:
    return f"d{uuid.uuid4().hex[:8]}"


@pytest.fixture
def catalog(hive: HiveMetastore, db: str, tmp_path: Path) -> TableCatalog:
    return opened(hive, tmp_path, db)


def opened(server: HiveMetastore, folder: Path, db: str, **more: str) -> TableCatalog:
    made = ice.load_catalog("h", **server.properties(folder) | more)
    made.create_namespace_if_not_exists(db)
    return made


def asked(server: HiveMetastore, method: str, *arguments: object) -> Any:
    with Metastore({"uri": server.uri}).session() as session:
        return session.once(method, *arguments)


def locks_of(server: HiveMetastore, db: str) -> list[Any]:
    return asked(server, "show_locks", hive.ShowLocksRequest(dbname=db, tablename="t")).locks


@dataclass
class Lost:
    """Calls by all clients but heartbeats; one of them is not sent, or its answer never comes."""

    at: int = -1
    sent: bool = True
    calls: list[str] = field(default_factory=list)

    def call(self, client: Any, line: Any, method: str, *arguments: object) -> Any:
        broken = False
        if method != "heartbeat":
            self.calls.append(method)
            broken = len(self.calls) - 1 == self.at
        if not broken or self.sent:
            answer = getattr(client, method)(*arguments)
        if broken:
            line.close()
            raise TTransportException(message="the line went dead")
        return answer


@dataclass
class Client:
    """A client whose calls may go wrong."""

    lost: Lost
    client: Any
    line: Any

    def __getattr__(self, method: str) -> Any:
        return partial(self.lost.call, self.client, self.line, method)


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> Lost:
    monkeypatch.setattr(nap.time, "sleep", lambda _: None)
    lost = Lost()
    connect = Metastore.connect

    def wrapped(self: Metastore) -> tuple[Any, Any]:
        client, line = connect(self)
        return Client(lost, client, line), line

    monkeypatch.setattr(Metastore, "connect", wrapped)
    return lost


def landed(lost: Lost, change: Any, at: int, *, sent: bool) -> bool:
    lost.calls, lost.at, lost.sent = [], at, sent
    try:
        change()
    except StorageError:
        return False
    finally:
        lost.at = -1
    return True


@pytest.mark.parametrize("sent", [True, False])
def test_an_append_lands_once_whichever_answer_is_lost(
    lost: Lost, sent: bool, catalog: TableCatalog, hive: HiveMetastore, db: str, tmp_path: Path
) -> None:
    table = catalog.create_table(f"{db}.t", "id bigint")
    assert landed(lost, lambda: table.append(rows(id=[0])), -1, sent=sent)
    whole = lost.calls
    assert whole == [
        "get_table",
        "get_table",
        "lock",
        "get_table",
        "alter_table_with_environment_context",
        "unlock",
    ]
    for at in range(len(whole)):
        assert landed(lost, partial(table.append, rows(id=[at + 1])), at, sent=sent), whole[at]
        assert locks_of(hive, db) == []
    newest = catalog.load_table(f"{db}.t")
    assert ids(newest) == list(range(len(whole) + 1))
    log = [entry.metadata_file for entry in newest.metadata.metadata_log]
    written = {name.rpartition("/")[2] for name in files_below(tmp_path) if name.endswith(".json")}
    assert written == {path.rpartition("/")[2] for path in (*log, newest.metadata_location)}


@pytest.mark.parametrize("sent", [True, False])
def test_a_creation_a_rename_and_a_drop_are_carried_out_once_whichever_answer_is_lost(
    lost: Lost, sent: bool, catalog: TableCatalog, hive: HiveMetastore, db: str
) -> None:
    def create_rename_and_drop() -> None:
        catalog.create_table(f"{db}.t", "id bigint")
        catalog.rename_table(f"{db}.t", f"{db}.u")
        catalog.drop_table(f"{db}.u")

    assert landed(lost, create_rename_and_drop, -1, sent=sent)
    whole = list(lost.calls)
    assert {"create_table", "alter_table_with_environment_context", "drop_table"} < {*whole}
    for at in range(len(whole)):
        done = landed(lost, create_rename_and_drop, at, sent=sent)
        left = [name for _, name in catalog.list_tables(db)]
        assert left == ([] if done else left[:1])
        assert done or whole[at] in {"alter_table_with_environment_context", "drop_table"}
        assert locks_of(hive, db) == []
        for name in left:
            assert ids(catalog.load_table(f"{db}.{name}")) == []
            catalog.drop_table(f"{db}.{name}")


def lock_by_hand(server: HiveMetastore, db: str) -> int:
    part = hive.LockComponent(type=3, level=2, dbname=db, tablename="t")
    request = hive.LockRequest(component=[part], user="ann", hostname="far", agentInfo="Iceberg-1")
    return int(asked(server, "lock", request).lockid)


def test_a_lock_that_a_dead_writer_left_is_waited_for(
    catalog: TableCatalog, hive: HiveMetastore, db: str
) -> None:
    table = catalog.create_table(f"{db}.t", "id bigint")
    lock_by_hand(hive, db)
    table.append(rows(id=[1]))  # the metastore gives it up, for nobody keeps it alive
    assert ids(table) == [1]


def test_who_holds_a_lock_for_too_long_is_named(
    hive: HiveMetastore, db: str, tmp_path: Path
) -> None:
    catalog = opened(hive, tmp_path, db, **{"iceberg.hive.lock-timeout-ms": "100"})
    once = {"commit.retry.num-retries": "0"}
    table = catalog.create_table(f"{db}.t", "id bigint", properties=once)
    number = lock_by_hand(hive, db)
    with pytest.raises(CommitFailedException, match=rf"lock {number} of ann on far \(Iceberg-1\)"):
        table.append(rows(id=[1]))
    assert [lock.lockid for lock in locks_of(hive, db)] == [number]
    asked(hive, "unlock", hive_unlock(number))
    table.refresh().append(rows(id=[2]))
    assert ids(table) == [2]


def hive_unlock(number: int) -> Any:
    return hive.UnlockRequest(lockid=number)


def test_tables_without_locks_are_moved_by_what_the_metastore_compares(
    catalog: TableCatalog, hive: HiveMetastore, db: str
) -> None:
    made = catalog.create_table(f"{db}.t", "id bigint", properties=UNLOCKED)
    lock_by_hand(hive, db)  # is in nobody's way

    def append(number: int) -> None:
        table = catalog.load_table(f"{db}.t")
        while True:
            try:
                table.refresh().append(rows(id=[number]))
            except CommitFailedException:
                continue
            return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(12)))
    assert ids(made.refresh()) == list(range(12))


def set_direct_sql(client: Any, value: str) -> None:
    for setting in ("hive.metastore.try.direct.sql", "hive.metastore.try.direct.sql.ddl"):
        client.setMetaConf(setting, value)


def test_a_metastore_without_direct_sql_takes_every_change_of_a_locked_table(
    catalog: TableCatalog, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a metastore can't compare a parameter, and under the lock Java does not ask it to."""
    connect = Metastore.connect

    def without_direct_sql(self: Metastore) -> tuple[Any, Any]:
        client, line = connect(self)
        set_direct_sql(client, "false")
        close = line.close

        def close_with_direct_sql() -> None:
            # The metastore's threads keep such a setting for whoever connects next.
            set_direct_sql(client, "true")
            close()

        line.close = close_with_direct_sql
        return client, line

    monkeypatch.setattr(Metastore, "connect", without_direct_sql)
    catalog.create_table(f"{db}.t", "id bigint")
    table = catalog.load_table(f"{db}.t")
    table.append(rows(id=[1]))
    table.append(rows(id=[2]))
    catalog.rename_table(f"{db}.t", f"{db}.u")
    assert catalog.list_tables(db) == [(db, "u")]
    assert ids(catalog.load_table(f"{db}.u")) == [1, 2]
    catalog.drop_table(f"{db}.u")
    assert catalog.list_tables(db) == []


def test_hive_is_shown_columns_and_no_partitions(
    catalog: TableCatalog, hive: HiveMetastore, db: str
) -> None:
    columns = "id bigint not null comment 'key', ts timestamp, n struct<a: int, b: decimal(9,2)>"
    table = catalog.create_table(f"{db}.t", columns, partition_by="days(ts)")
    table.update_schema().add_column("m", "map<string, binary>").commit()
    shown = asked(hive, "get_table", db, "t")
    assert [(each.name, each.type, each.comment) for each in shown.sd.cols] == [
        ("id", "bigint", "key"),
        ("ts", "timestamp", None),
        ("n", "struct<a:int,b:decimal(9,2)>", None),
        ("m", "map<string,binary>", None),
    ]
    assert shown.partitionKeys == [] and shown.tableType == "EXTERNAL_TABLE"


def test_properties_come_and_go_and_what_others_put_there_stays(
    catalog: TableCatalog, hive: HiveMetastore, db: str
) -> None:
    table = catalog.create_table(
        f"{db}.t", "id bigint", properties={"a": "1", "gc.enabled": "false"}
    )
    shown = asked(hive, "get_table", db, "t")
    shown.parameters["theirs"] = "kept"
    context = hive_context()
    asked(hive, "alter_table_with_environment_context", db, "t", shown, context)
    table.update_properties().set({"b": "2"}).remove("a").remove("gc.enabled").commit()
    parameters = asked(hive, "get_table", db, "t").parameters
    assert {"theirs": "kept", "b": "2", "table_type": "ICEBERG"}.items() <= parameters.items()
    assert not {"a", "external.table.purge"} & parameters.keys()


def hive_context() -> Any:
    return hive.EnvironmentContext(properties={})


def test_hives_own_tables_are_none_of_ours_and_hold_their_names(
    catalog: TableCatalog, hive: HiveMetastore, db: str, tmp_path: Path
) -> None:
    catalog.create_table(f"{db}.t", "id bigint")
    other = asked(hive, "get_table", db, "t")
    other.tableName, other.parameters = "plain", {"EXTERNAL": "TRUE"}
    asked(hive, "create_table", other)
    assert not catalog.table_exists(f"{db}.plain")
    assert catalog.list_tables(db) == [(db, "t")]
    with pytest.raises(NoSuchTableError):
        catalog.drop_table(f"{db}.plain")
    for taken in (
        lambda: catalog.create_table(f"{db}.plain", "id bigint"),
        lambda: catalog.rename_table(f"{db}.t", f"{db}.plain"),
    ):
        with pytest.raises(TableAlreadyExistsError):
            taken()


def test_namespaces_are_hives_databases(catalog: TableCatalog, db: str, tmp_path: Path) -> None:
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace(db)
    catalog.update_namespace_properties(db, updates={"a": "1", "comment": "ours"})
    catalog.update_namespace_properties(db, removals={"comment"}, updates={"b": "2"})
    found = catalog.load_namespace_properties(db)
    assert (found["a"], found["b"], "comment" in found) == ("1", "2", False)
    assert (db,) in catalog.list_namespaces() and catalog.list_namespaces(db) == []
    catalog.create_table(f"{db}.t", "id bigint")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(db)
    catalog.drop_table(f"{db}.t")
    catalog.drop_namespace(db)
    for missing in (catalog.drop_namespace, catalog.list_tables, catalog.list_namespaces):
        with pytest.raises(NoSuchNamespaceError):
            missing(db)
    assert not catalog.namespace_exists(f"{db}.below")
    with pytest.raises(NoSuchNamespaceError):
        catalog.create_table(f"{db}.t", "id bigint")
    with pytest.raises(InvalidInputError, match="one level"):
        catalog.create_namespace(f"{db}.below")


def test_names_are_as_hive_has_them(catalog: TableCatalog, db: str) -> None:
    catalog.create_table(f"{db.upper()}.T", "id bigint").append(rows(id=[1]))
    assert ids(catalog.load_table(f"{db}.t")) == [1]
    assert catalog.list_tables(db) == [(db, "t")]


def test_a_table_is_registered_and_goes_on(catalog: TableCatalog, db: str) -> None:
    made = catalog.create_table(f"{db}.t", "id bigint")
    made.append(rows(id=[1]))
    catalog.drop_table(f"{db}.t")
    catalog.register_table(f"{db}.again", made.metadata_location).append(rows(id=[2]))
    assert ids(catalog.load_table(f"{db}.again")) == [1, 2]


def test_another_metastore_of_the_list_answers_where_one_does_not(
    hive: HiveMetastore, db: str, tmp_path: Path
) -> None:
    uri = f"thrift://127.0.0.1:1,{hive.uri}"
    assert ice.load_catalog("h", uri=uri, warehouse=str(tmp_path)).namespace_exists("default")
    with pytest.raises(StorageError, match=r"No Hive metastore answers at 127\.0\.0\.1:1"):
        ice.load_catalog("h", uri="thrift://127.0.0.1:1").list_namespaces()


def test_a_metastore_that_hangs_up_may_want_kerberos_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    line, _ = listening.accept()
                    line.recv(4)
                    line.close()

        threading.Thread(target=hang_up, daemon=True).start()
        uri = f"thrift://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(StorageError, match="wants Kerberos or TLS"):
            ice.load_catalog("h", uri=uri).list_namespaces()


@pytest.mark.parametrize(
    ("properties", "error", "text"),
    [
        ({"hive.kerberos-authentication": "true"}, UnsupportedError, "Kerberos.*type rest"),
        ({"hive.metastore.sasl.enabled": "true"}, UnsupportedError, "without Kerberos"),
        ({"uri": "http://h:9083", "type": "hive"}, InvalidInputError, "thrift://host:9083"),
        ({"uri": "thrift://h:port"}, InvalidInputError, "thrift://host:9083"),
        ({"iceberg.hive.lock-timeout-ms": "soon"}, InvalidInputError, "lock-"),
        ({"hadoop.iceberg.hive.lock-timeout-ms": "soon"}, InvalidInputError, "lock-"),
        ({"hadoop.hive.metastore.sasl.enabled": "true"}, UnsupportedError, "without Kerberos"),
        ({"hive.metastore.client.socket.timeout": "long"}, InvalidInputError, "seconds"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_connected_to(
    properties: dict[str, str], error: type[IcebergError], text: str
) -> None:
    with pytest.raises(error, match=text):
        ice.load_catalog("h", **{"uri": "thrift://h:9083", **properties})


def test_a_table_of_hives_keeps_a_namespace_with_all_that_is_in_it(
    hive: HiveMetastore, catalog: TableCatalog, db: str
) -> None:
    catalog.create_table(f"{db}.t", "id bigint")
    found = asked(hive, "get_table", db, "t")
    found.tableName, found.parameters = "own", {}
    asked(hive, "create_table", found)
    with pytest.raises(NamespaceNotEmptyError, match=r"nothing was dropped: table own .*Hive's"):
        catalog.drop_namespace(db, cascade=True)
    assert catalog.table_exists(f"{db}.t")
    asked(hive, "drop_table", db, "own", False)
    catalog.drop_namespace(db, cascade=True)
    assert not catalog.namespace_exists(db)
