"""What is sent for a commit, and when it is sent again."""

import json
import uuid
from dataclasses import replace
from typing import Any

import httpx
import pytest

from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.catalog.catalog import LoadedTable, TableChange
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_json import metadata_to_json
from iceberg_spark.spec.new_table import new_metadata, new_table_updates
from iceberg_spark.spec.requirements import AssertCreate, AssertRefSnapshotId, requirements_for
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot, SnapshotRef, SnapshotRefType
from iceberg_spark.spec.types import LongType, NestedField
from iceberg_spark.spec.updates import (
    AddSnapshot,
    RemoveSnapshotRef,
    RemoveSnapshots,
    SetLocation,
    SetProperties,
    SetSnapshotRef,
)
from tests.unit.catalog.rest.fake_server import FakeServer, Reply, body, error

PATH = "v1/namespaces/db/tables/t"
SCHEMA = Schema(NestedField(1, "id", LongType()))
KEYS = {"idempotency-key-lifetime": "PT30M"}
LOST = httpx.ReadError("connection reset")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


def given(metadata: TableMetadata, **headers: str) -> httpx.Response:
    node = {"metadata-location": "/w/m.json", "metadata": json.loads(metadata_to_json(metadata))}
    return httpx.Response(200, json=node, headers=headers)


BASE = new_metadata(SCHEMA, location="/w/t", now_ms=1)
CHANGE = (SetProperties({"a": "1"}),)
AFTER = apply(BASE, CHANGE, now_ms=2)
MOVED = apply(BASE, (SetLocation("/w/other"),), now_ms=2)


def commit(server: FakeServer, catalog: RestCatalog | None = None) -> LoadedTable:
    base = LoadedTable("db.t", BASE, "/w/b.json", table_io(open_storage(), "/w/b.json"))
    used = catalog or server.catalog()
    return used.commit("db.t", requirements_for(BASE, CHANGE), CHANGE, base)


def served(posts: list[Reply], gets: list[Reply] | None = None, **config: Any) -> FakeServer:
    found = gets or [given(BASE)]
    return FakeServer({f"POST {PATH}": posts, f"GET {PATH}": found}, config)


def test_a_commit_is_one_request_with_requirements_and_updates():
    server = served([given(AFTER)])
    made = commit(server)
    assert made.metadata == AFTER and made.given_by_catalog
    assert server.asked() == [f"POST {PATH}"]
    assert body(server.requests[-1]) == {
        "identifier": {"namespace": ["db"], "name": "t"},
        "requirements": [{"type": "assert-table-uuid", "uuid": BASE.table_uuid}],
        "updates": [{"action": "set-properties", "updates": {"a": "1"}}],
    }
    assert "Idempotency-Key" not in server.requests[-1].headers


def test_a_request_sent_again_has_the_same_key_and_another_commit_a_new_one():
    server = served([LOST, error(503, "Busy"), given(AFTER)], **KEYS)
    catalog = server.catalog()
    commit(server, catalog)
    commit(server, catalog)
    sent = [one for one in server.requests if one.method == "POST"]
    first, second, third, other = (one.headers["Idempotency-Key"] for one in sent)
    assert first == second == third != other
    assert uuid.UUID(first).version == 7
    assert len({one.content for one in sent}) == 1


def test_every_change_has_a_key_where_the_server_takes_them():
    done = httpx.Response(204)
    server = FakeServer(config=KEYS)
    server.replies |= {f"DELETE {PATH}": done, "POST v1/tables/rename": done}
    server.replies |= {"POST v1/namespaces": httpx.Response(200, json={})}
    catalog = server.catalog()
    catalog.drop_table("db.t")
    catalog.namespaces.rename_table("db.t", "db.u")
    catalog.namespaces.create(("n",), {})
    keys = [one.headers.get("Idempotency-Key") for one in server.requests[1:]]
    assert None not in keys and len(set(keys)) == 3


def test_a_branch_that_was_moved_keeps_its_snapshots():
    snapshot = Snapshot(7, 5, "/w/list.avro", None, 1, {"operation": "append"})
    ref = SnapshotRef(7, SnapshotRefType.BRANCH)
    metadata = apply(BASE, (AddSnapshot(snapshot), SetSnapshotRef("side", ref)), now_ms=9)
    base = LoadedTable("db.t", metadata, "/w/b.json", open_storage())
    server = served([given(metadata)])
    server.catalog().commit("db.t", (), (RemoveSnapshots((8,)),), base)
    guard = {"type": "assert-ref-snapshot-id", "ref": "side", "snapshot-id": 7}
    assert body(server.requests[-1])["requirements"] == [guard]


def test_tables_of_one_commit_that_have_landed_in_part_are_looked_for_again():
    change = (AddSnapshot(Snapshot(7, 5, "/w/list.avro", None, 1, {"operation": "append"})),)
    after = apply(BASE, change, now_ms=9)
    base = LoadedTable("db.t", BASE, "/w/b.json", open_storage())
    changes = [TableChange(f"db.{name}", (), change, base) for name in ("t", "u")]
    server = FakeServer({"POST v1/transactions/commit": [LOST, error(409, "CommitFailed")]})
    server.replies[f"GET {PATH}"] = given(after)
    server.replies["GET v1/namespaces/db/tables/u"] = [given(BASE), given(after)]
    assert [each.metadata for each in server.catalog().commit_tables(changes)] == [after, after]
    assert len(server.asked("POST")) == 2
    server.replies["GET v1/namespaces/db/tables/u"] = given(BASE)
    with pytest.raises(CommitStateUnknownException):
        server.catalog().commit_tables(changes)


@pytest.mark.parametrize("half", [False, True])
def test_a_yes_to_several_tables_is_not_believed_where_a_table_lacks_the_commit(half: bool):
    snapshot = Snapshot(1, 5, "/w/list.avro", None, 1, {"operation": "append"})
    change = (AddSnapshot(snapshot), SetSnapshotRef("main", SnapshotRef(1, SnapshotRefType.BRANCH)))
    after = apply(BASE, change, now_ms=9)
    theirs = replace(snapshot, snapshot_id=2)
    won = (AddSnapshot(theirs), SetSnapshotRef("main", SnapshotRef(2, SnapshotRefType.BRANCH)))
    base = LoadedTable("db.t", BASE, "/w/b.json", open_storage())
    needs = (AssertRefSnapshotId("main", None),)
    changes = [TableChange(f"db.{name}", needs, change, base) for name in ("t", "u")]
    server = FakeServer({"POST v1/transactions/commit": httpx.Response(204)})
    server.replies[f"GET {PATH}"] = given(after if half else BASE)
    server.replies["GET v1/namespaces/db/tables/u"] = given(apply(BASE, won, now_ms=9))
    with pytest.raises(CommitStateUnknownException if half else CommitFailedException):
        server.catalog().commit_tables(changes)


def test_a_server_purges_itself():
    server = served([], [given(BASE)])
    server.replies[f"DELETE {PATH}"] = httpx.Response(204)
    TableCatalog(server.catalog()).purge_table("db.t")
    assert server.asked() == [f"GET {PATH}", f"DELETE {PATH}?purgeRequested=true"]


def test_503_without_retry_after_is_not_sent_again_and_nothing_landed():
    server = served([error(503, "Down"), given(AFTER)])
    with pytest.raises(ServiceUnavailableError, match="nothing was committed"):
        commit(server)
    assert len(server.asked("POST")) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_for_a_retry_gets_one_without_a_load(status: int):
    server = served([error(status, "SlowDown", **{"Retry-After": "3"}), given(AFTER)])
    commit(server)
    assert server.asked() == [f"POST {PATH}"] * 2


def test_a_commit_whose_effect_is_visible_has_landed():
    server = served([LOST], [given(AFTER)])
    assert commit(server).metadata == AFTER
    assert len(server.asked("POST")) == 1


def test_a_commit_that_lost_is_refused_without_another_request():
    server = served([error(409, "CommitFailedException")], [given(MOVED)])
    with pytest.raises(CommitFailedException):
        commit(server)
    assert len(server.asked("POST")) == 1


def test_a_refusal_of_the_second_request_is_none_of_the_first():
    server = served([LOST, error(403, "ForbiddenException")])
    with pytest.raises(CommitStateUnknownException, match="may have landed"):
        commit(server)


def test_a_refusal_of_the_first_request_is_one():
    with pytest.raises(ForbiddenError):
        commit(served([error(403, "ForbiddenException")]))


def test_a_failure_that_the_catalog_reports_is_not_a_commit():
    with pytest.raises(CommitFailedException, match="does not have the commit"):
        commit(served([error(500, "InternalServerError")]))
    with pytest.raises(CommitStateUnknownException):
        commit(served([error(500, "CommitStateUnknownException")]))


def test_an_answer_that_cant_be_read_may_have_landed():
    strange = httpx.Response(200, json={"metadata": {"format-version": 9}})
    with pytest.raises(CommitStateUnknownException):
        commit(served([strange], [strange]))


def test_a_creation_after_anothers_is_refused_and_after_its_own_is_not():
    creation = new_table_updates(SCHEMA, location="/w/t")
    own = apply(None, creation, now_ms=1)
    for there, wanted in ((own, None), (BASE, TableAlreadyExistsError)):
        for lost in (LOST, error(409, "AlreadyExistsException")):
            catalog = served([lost], [given(there)]).catalog()
            if wanted is None:
                assert catalog.commit("db.t", [AssertCreate()], creation, None).metadata == own
                continue
            with pytest.raises(wanted):
                catalog.commit("db.t", [AssertCreate()], creation, None)


def test_an_unchanged_table_is_not_sent_again():
    server = served([], [given(BASE, ETag="v1"), httpx.Response(304), given(AFTER, ETag="v2")])
    catalog = server.catalog()
    first = catalog.load("db.t")
    assert catalog.load("db.t") is first
    assert catalog.load("db.t").metadata == AFTER
    tags = [one.headers.get("If-None-Match") for one in server.requests[1:]]
    assert tags == [None, "v1", "v1"]


def test_a_new_tables_place_properties_and_ids_are_the_servers():
    staged = new_metadata(SCHEMA, location="/server/place", now_ms=1, properties={"by": "server"})
    node = {"metadata-location": None, "metadata": json.loads(metadata_to_json(staged))}
    server = FakeServer({"POST v1/namespaces/db/tables": httpx.Response(200, json=node)})

    new = server.catalog().stage(
        "db.t", lambda at: new_table_updates(SCHEMA, location=at, properties={"mine": "1"})
    )
    asked = body(server.requests[-1])
    assert asked["stage-create"] is True and asked["properties"]["mine"] == "1"
    assert "location" not in asked
    assert new.location == "/server/place"
    assert apply(None, new.updates, now_ms=1).table_uuid == staged.table_uuid
    assert apply(None, new.updates, now_ms=1).properties == {"by": "server"}


def test_a_tag_that_the_server_silently_leaves_out_is_an_error():
    """Nessie does so."""
    base = LoadedTable("db.t", BASE, "/w/b.json", table_io(open_storage(), "/w/b.json"))
    tag = SetSnapshotRef("eoy", SnapshotRef(1, SnapshotRefType.TAG))
    server = served([given(BASE)])
    with pytest.raises(UnsupportedError, match="no branch or tag eoy"):
        server.catalog().commit("db.t", (), (tag,), base)
    assert server.asked() == [f"POST {PATH}"]
    both = (tag, RemoveSnapshotRef("eoy"))
    assert served([given(BASE)]).catalog().commit("db.t", (), both, base).metadata == BASE


def test_rows_for_a_branch_that_the_server_leaves_out_are_not_taken_for_landed_there():
    """Whether they are in main is open: nothing of the commit may be removed."""
    base = LoadedTable("db.t", BASE, "/w/b.json", table_io(open_storage(), "/w/b.json"))
    snapshot = Snapshot(7, 5, "/w/list.avro", None, 1, {"operation": "append"})
    add, branch = AddSnapshot(snapshot), SnapshotRef(7, SnapshotRefType.BRANCH)
    in_main = apply(BASE, (add, SetSnapshotRef("main", branch)), now_ms=9)
    with pytest.raises(CommitStateUnknownException, match=r"no branch or tag side.*main"):
        served([given(in_main)]).catalog().commit(
            "db.t", (), (add, SetSnapshotRef("side", branch)), base
        )


def test_nessie_is_sent_no_commit_with_branches_of_a_table():
    base = LoadedTable("db.t", BASE, "/w/b.json", table_io(open_storage(), "/w/b.json"))
    branch = SnapshotRef(7, SnapshotRefType.BRANCH)
    says = {"defaults": {"nessie.is-nessie-catalog": "true"}}
    server = served([given(BASE)], **says)
    with pytest.raises(UnsupportedError, match="no branch or tag side"):
        server.catalog().commit("db.t", (), (SetSnapshotRef("side", branch),), base)
    assert server.asked() == []
