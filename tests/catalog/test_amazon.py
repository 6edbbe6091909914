"""Tables in AWS Glue and DynamoDB: answers that are lost, requests that are sent again."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from botocore.httpsession import URLLib3Session
from pyiceberg.catalog.dynamodb import DynamoDbCatalog
from pyiceberg.catalog.glue import GlueCatalog
from tenacity import nap

import iceberg_spark as ice
from iceberg_spark import TableCatalog
from iceberg_spark.catalog.aws import glue_pointers
from iceberg_spark.catalog.aws.aws_errors import as_ours
from iceberg_spark.catalog.aws.catalogs import dynamodb_catalog, glue_catalog
from iceberg_spark.errors import (
    CommitFailedException,
    ForbiddenError,
    IcebergError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    StorageError,
    TableAlreadyExistsError,
    UnauthorizedError,
    UnsupportedError,
)
from tests.servers.moto import Moto
from tests.unit.api.tables import files_below, ids, rows

pytestmark = pytest.mark.xdist_group("amazon")  # one server for all of them

WRITES = {"CreateTable", "UpdateTable", "PutItem"}


@pytest.fixture(params=["glue", "dynamodb"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def db() -> str:
    return f"d{uuid.uuid4().hex[:8]}"


@pytest.fixture
def catalog(amazon: Moto, kind: str, db: str, tmp_path: Path) -> TableCatalog:
    made = ice.load_catalog("c", **amazon.properties(kind, tmp_path))
    made.create_namespace(db)
    return made


@dataclass
class Lost:
    """Calls of all clients; one of them is not sent, or its answer never comes."""

    at: int = -1
    sent: bool = True
    calls: list[str] = field(default_factory=list)

    def call(self, client: Any, ask: Callable[..., Any], method: str, given: Any) -> Any:
        self.calls.append(method)
        if len(self.calls) - 1 != self.at:
            return ask(client, method, given)
        if self.sent:
            ask(client, method, given)
        raise ConnectionClosedError(endpoint_url="http://service")


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> Lost:
    monkeypatch.setattr(nap.time, "sleep", lambda _: None)
    lost = Lost()
    for made in (GlueCatalog, DynamoDbCatalog):
        watch(monkeypatch, made, lost)
    return lost


def watch(monkeypatch: pytest.MonkeyPatch, made: type[Any], lost: Lost) -> None:
    prepare = made.__init__

    def prepared(self: Any, *arguments: Any, **named: Any) -> None:
        prepare(self, *arguments, **named)
        client = self.glue if made is GlueCatalog else self.dynamodb
        kind = type(client)
        ask = kind._make_api_call
        asked = type(kind.__name__, (kind,), {
            "_make_api_call": lambda self, method, given: lost.call(self, ask, method, given)
        })  # fmt: skip
        client.__class__ = asked

    monkeypatch.setattr(made, "__init__", prepared)


def landed(lost: Lost, change: Callable[[], object], at: int, *, sent: bool) -> bool:
    lost.calls, lost.at, lost.sent = [], at, sent
    try:
        change()
    except StorageError:
        return False
    finally:
        lost.at = -1
    return True


@pytest.mark.parametrize("sent", [True, False])
def test_an_append_and_a_creation_land_once_whichever_answer_is_lost(
    lost: Lost, sent: bool, catalog: TableCatalog, db: str, tmp_path: Path
) -> None:
    table = catalog.create_table(f"{db}.t", "id bigint")
    for change in (
        lambda name: table.append(rows(id=[name])),
        lambda name: catalog.create_table(f"{db}.t{name}", "id bigint"),
    ):
        assert landed(lost, partial(change, 99), -1, sent=sent)
        whole = list(lost.calls)
        for at in range(len(whole)):
            done = landed(lost, partial(change, at), at, sent=sent)
            assert done or not WRITES & {whole[at]}
    newest = catalog.load_table(f"{db}.t")
    written = {name for name in files_below(tmp_path / f"{db}.db/t") if name.endswith(".json")}
    log = [entry.metadata_file for entry in newest.metadata.metadata_log]
    assert {name.rpartition("/")[2] for name in written} == {
        place.rpartition("/")[2] for place in (*log, newest.metadata_location)
    }
    assert len(ids(newest)) == len({*ids(newest)}) == len(written) - 1


def test_a_request_that_its_sender_repeats_is_not_refused_for_what_it_did(
    amazon: Moto, kind: str, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {"glue": glue_catalog, "dynamodb": dynamodb_catalog}[kind]
    catalog = TableCatalog(made("c", amazon.properties(kind, tmp_path)))
    catalog.create_namespace(db)
    table = catalog.create_table(f"{db}.t", "id bigint")
    theirs = catalog._catalog._pointers._theirs.catalog
    client = theirs.glue if kind == "glue" else theirs.dynamodb
    lines: list[str] = []

    def cut(request: Any, **_: Any) -> None:
        lines.append(request.url)
        if len(lines) == 1:  # the service did it, and the line goes dead
            URLLib3Session().send(request)
            raise ConnectionClosedError(endpoint_url=request.url)

    written = "UpdateTable" if kind == "glue" else "PutItem"
    client.meta.events.register(f"before-send.{kind}.{written}", cut)
    table.append(rows(id=[1]))
    assert len(lines) == 2
    assert ids(catalog.load_table(f"{db}.t")) == [1]


@pytest.mark.parametrize("kind", ["dynamodb"], indirect=True)
@pytest.mark.parametrize("sent", [True, False])
def test_several_tables_change_at_once_or_none_whichever_answer_is_lost(
    lost: Lost, sent: bool, catalog: TableCatalog, db: str
) -> None:
    names = (f"{db}.a", f"{db}.b")
    for name in names:
        catalog.create_table(name, "id bigint")

    def change(number: int) -> None:
        with catalog.transaction() as tx:
            for name in names:
                tx.load_table(name).append(rows(id=[number]))

    assert landed(lost, partial(change, 99), -1, sent=sent)
    whole = list(lost.calls)
    moved = whole.index("TransactWriteItems")
    done = [at for at in range(len(whole)) if landed(lost, partial(change, at), at, sent=sent)]
    assert moved in done
    for name in names:
        assert ids(catalog.load_table(name)) == [*done, 99]


@pytest.mark.parametrize("kind", ["glue"], indirect=True)
def test_glue_changes_one_table_at_a_time(catalog: TableCatalog, db: str) -> None:
    names = (f"{db}.a", f"{db}.b")
    tables = [catalog.create_table(name, "id bigint") for name in names]
    tx = catalog.transaction()
    for name in names:
        tx.load_table(name).append(rows(id=[1]))
    with pytest.raises(UnsupportedError):
        tx.commit_transaction()
    assert [ids(table.refresh()) for table in tables] == [[], []]


def test_pyiceberg_and_we_change_a_glue_table_by_turns(
    amazon: Moto, db: str, tmp_path: Path
) -> None:
    properties = amazon.properties("glue", tmp_path)
    ours, theirs = ice.load_catalog("c", **properties), GlueCatalog("c", **properties)
    theirs.create_namespace(db, {"location": f"{tmp_path}/there"})
    made = ours.create_table(f"{db}.t", "id bigint", partition_by="bucket(4, id)")
    assert made.location() == f"{tmp_path}/there/t"
    made.append(rows(id=[1]))
    theirs.load_table(f"{db}.t").append(rows(id=[2]))
    ours.load_table(f"{db}.t").update_schema().add_column("s", "string", doc="text").commit()
    ours.load_table(f"{db}.t").append(rows(id=[3], s=["x"]))
    assert sorted(theirs.load_table(f"{db}.t").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3]
    assert ids(ours.load_table(f"{db}.t")) == [1, 2, 3]
    assert theirs.list_tables(db) == ours.list_tables(db) == [(db, "t")]
    shown = theirs.glue.get_table(DatabaseName=db, Name="t")["Table"]
    columns = shown["StorageDescriptor"]["Columns"]
    assert [(each["Name"], each["Type"]) for each in columns] == [("id", "bigint"), ("s", "string")]


def test_pyiceberg_reads_what_we_keep_in_dynamodb(amazon: Moto, db: str, tmp_path: Path) -> None:
    properties = amazon.properties("dynamodb", tmp_path)
    ours = ice.load_catalog("c", **properties)
    ours.create_namespace(db)
    ours.create_table(f"{db}.t", "id bigint").append(rows(id=[1, 2]))
    client = dynamodb_catalog("c", properties)._pointers._theirs.catalog.dynamodb
    theirs = DynamoDbCatalog("c", client, warehouse=str(tmp_path))
    assert theirs.load_table(f"{db}.t").scan().to_arrow()["id"].to_pylist() == [1, 2]


def test_names_are_given_moved_and_taken(catalog: TableCatalog, db: str) -> None:
    made = catalog.create_table(f"{db}.t", "id bigint")
    made.append(rows(id=[1]))
    catalog.rename_table(f"{db}.t", f"{db}.u")
    assert catalog.list_tables(db) == [(db, "u")]
    other = catalog.create_table(f"{db}.t", "id bigint", partition_by="id")
    with pytest.raises(TableAlreadyExistsError):
        catalog.rename_table(f"{db}.t", f"{db}.u")
    with pytest.raises(TableAlreadyExistsError):
        catalog.register_table(f"{db}.t", other.metadata_location)
    catalog.drop_table(f"{db}.u")
    for missing in (catalog.drop_table, catalog.load_table):
        with pytest.raises(NoSuchTableError):
            missing(f"{db}.u")
    with pytest.raises(NoSuchTableError):
        catalog.rename_table(f"{db}.u", f"{db}.v")
    catalog.register_table(f"{db}.u", made.metadata_location).append(rows(id=[2]))
    assert ids(catalog.load_table(f"{db}.u")) == [1, 2]


def test_namespaces_have_one_level_and_properties(catalog: TableCatalog, db: str) -> None:
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace(db)
    catalog.update_namespace_properties(db, updates={"a": "1", "b": "2"})
    catalog.update_namespace_properties(db, removals={"a"}, updates={"b": "3"})
    found = catalog.load_namespace_properties(db)
    assert (found.get("a"), found["b"]) == (None, "3")
    assert (db,) in catalog.list_namespaces() and catalog.list_namespaces(db) == []
    catalog.create_table(f"{db}.t", "id bigint")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(db)
    catalog.drop_table(f"{db}.t")
    catalog.drop_namespace(db)
    for missing in (catalog.drop_namespace, catalog.list_tables, catalog.list_namespaces):
        with pytest.raises(NoSuchNamespaceError):
            missing(db)
    with pytest.raises(NoSuchNamespaceError):
        catalog.create_table(f"{db}.t", "id bigint")
    with pytest.raises(InvalidInputError, match="one level"):
        catalog.create_namespace(f"{db}.below")


def test_glues_own_tables_are_none_of_ours_and_hold_their_names(
    amazon: Moto, db: str, tmp_path: Path
) -> None:
    catalog = ice.load_catalog("c", **amazon.properties("glue", tmp_path))
    catalog.create_namespace(db)
    glue = GlueCatalog("c", **amazon.properties("glue", tmp_path)).glue
    glue.create_table(DatabaseName=db, TableInput={"Name": "plain", "Parameters": {}})
    assert not catalog.table_exists(f"{db}.plain")
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table(f"{db}.plain", "id bigint")
    catalog.create_table(f"{db}.t", "id bigint")
    with pytest.raises(NamespaceNotEmptyError, match="nothing was dropped: table plain"):
        catalog.drop_namespace(db, cascade=True)
    assert catalog.table_exists(f"{db}.t")
    glue.delete_table(DatabaseName=db, Name="plain")
    catalog.drop_namespace(db, cascade=True)
    assert not catalog.namespace_exists(db)


def test_a_glue_table_that_is_renamed_just_before_it_goes_stays(
    amazon: Moto, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Glue has no drop with a condition: the table is reserved by an update that has one."""
    catalog = ice.load_catalog("c", **amazon.properties("glue", tmp_path))
    catalog.create_namespace(db)
    table = catalog.create_table(f"{db}.t", "id bigint")
    table.append(rows(id=[1]))
    own = glue_pointers.GlueCatalog._is_reserved

    def overtaken(self: glue_pointers.GlueCatalog, identifier: str, entry: dict[str, Any]) -> bool:
        monkeypatch.setattr(glue_pointers.GlueCatalog, "_is_reserved", own)
        catalog.rename_table(f"{db}.t", f"{db}.u")
        catalog.create_table(f"{db}.t", "id bigint")
        return own(self, identifier, entry)

    monkeypatch.setattr(glue_pointers.GlueCatalog, "_is_reserved", overtaken)
    with pytest.raises(CommitFailedException, match="another table"):
        catalog.purge_table(f"{db}.t")
    assert ids(catalog.load_table(f"{db}.u")) == [1]
    assert ids(catalog.load_table(f"{db}.t")) == []
    catalog.drop_namespace(db, cascade=True)


@pytest.mark.parametrize(
    ("code", "status", "retries", "kind"),
    [
        ("AccessDeniedException", 400, 0, ForbiddenError),
        ("ExpiredTokenException", 400, 0, UnauthorizedError),
        ("EntityNotFoundException", 400, 0, UnsupportedError),
        ("ThrottlingException", 400, 0, StorageError),
        ("InternalServiceException", 500, 0, StorageError),
        ("AccessDeniedException", 400, 1, StorageError),
    ],
)
def test_a_refusal_is_final_unless_the_request_was_sent_before(
    code: str, status: int, retries: int, kind: type[IcebergError]
) -> None:
    answer = {
        "Error": {"Code": code, "Message": "no"},
        "ResponseMetadata": {"HTTPStatusCode": status, "RetryAttempts": retries},
    }
    with pytest.raises(kind) as caught, as_ours():
        raise ClientError(answer, "UpdateTable")  # type: ignore[arg-type]
    assert type(caught.value) is kind
