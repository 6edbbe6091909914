"""Creations before servers that prepare tables, and before those that can only make them."""

from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.create_table import DropOnFailure
from iceberg_spark.errors import (
    CommitStateUnknownException,
    ForbiddenError,
    InvalidInputError,
    TableAlreadyExistsError,
    ValidationException,
)
from iceberg_spark.save.commit_save import commit_save, take_back
from iceberg_spark.save.plan_save import TablePlace, plan_save
from iceberg_spark.save.write_options import WriteOptions
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import LongType, NestedField
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.data_file_writer import write_data_files
from tests.builders import data_file
from tests.unit.catalog.rest.fake_server import error
from tests.unit.catalog.rest.small_server import Answer, SmallServer

AT = "v1/namespaces/db/tables/t"
SCHEMA = Schema(NestedField(1, "id", LongType()))
STAGED = MADE = "POST tables"
LOST = httpx.ReadError("connection reset")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


@pytest.fixture
def server(tmp_path: Path) -> SmallServer:
    """One that refuses to prepare tables."""
    return SmallServer(tmp_path, stages=False)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def answering_once(server: SmallServer, method: str, reply: httpx.Response | Exception) -> None:
    """The first request of a method, but for a staged creation, is done and answered so."""
    left = [reply]

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        is_it = request.method == method and b"stage-create" not in request.content
        done = answer()
        if not (is_it and left):
            return done
        found = left.pop()
        if isinstance(found, Exception):
            raise found
        return found

    server.meets = meets


def test_a_server_without_staged_creation_makes_the_table_at_once(server: SmallServer):
    catalog = server.named()
    table = catalog.create_table("db.t", "id bigint", properties={"a": "1"})
    table.append(rows(1))
    assert server.lines == [STAGED, MADE, "POST t"]
    assert catalog.load_table("db.t").scan().to_arrow()["id"].to_pylist() == [1]
    assert table.properties["a"] == "1"


def test_a_refused_staging_is_not_requested_again(server: SmallServer):
    catalog = server.named()
    catalog.create_table("db.t", "id bigint")
    catalog.create_table("db.u", "id bigint")
    assert server.lines == [STAGED, MADE, MADE]


def test_a_server_without_commits_of_new_tables_is_not_asked_to_stage(
    tmp_path: Path,
):
    server = SmallServer(tmp_path)
    has = ["POST /v1/{prefix}/namespaces/{namespace}/tables", "GET x"]

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        if request.url.path.endswith("config"):
            return httpx.Response(200, json={"defaults": {}, "overrides": {}, "endpoints": has})
        return answer()

    server.meets = meets
    server.named().create_table("db.t", "id bigint")
    assert server.lines == [MADE] and AT in server.tables


def test_a_request_that_is_wrong_in_itself_is_refused_as_it_is(server: SmallServer):
    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        is_creation = request.method == "POST"
        return error(400, "BadRequestException", "no such type") if is_creation else answer()

    server.meets = meets
    catalog = server.named()
    with pytest.raises(InvalidInputError, match="no such type"):
        catalog.create_table("db.t", "id bigint")
    server.meets, server.stages = (lambda _, answer: answer()), True
    catalog.create_table("db.t", "id bigint")
    assert server.lines[2:] == [STAGED, "POST t"]


def test_a_server_that_makes_a_table_when_it_is_to_prepare_one_is_noticed(tmp_path: Path):
    """A commit that creates it would be refused: it is there already."""
    server = SmallServer(tmp_path, ignores_stage=True)
    table = server.named().create_table("db.t", "id bigint")
    assert server.lines == [STAGED, "GET t"]
    assert table.metadata.table_uuid == server.tables[AT][0].table_uuid


def test_a_table_that_is_there_is_not_taken_for_ones_own(server: SmallServer):
    server.named().create_table("db.t", "id bigint").append(rows(1))
    with pytest.raises(TableAlreadyExistsError):
        server.named().create_table("db.t", "id bigint")
    assert len(server.tables[AT][0].snapshots) == 1


@pytest.mark.parametrize(
    "reply", [LOST, httpx.Response(502, text="<html>"), httpx.Response(200, text="{}")]
)
def test_a_creation_whose_answer_is_lost_is_found(
    server: SmallServer, reply: httpx.Response | Exception
):
    answering_once(server, "POST", reply)
    table = server.named().create_table("db.t", "id bigint")
    assert table.metadata.table_uuid == server.tables[AT][0].table_uuid


@pytest.mark.parametrize("columns", ["other string", "id int", "id bigint, n int"])
def test_a_different_table_after_a_lost_response_belongs_to_others(
    server: SmallServer, columns: str
):
    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        if request.method != "POST" or b"stage-create" in request.content:
            return answer()
        server.meets = lambda _, answer: answer()
        server.named().create_table("db.t", columns)
        raise LOST

    server.meets = meets
    with pytest.raises(TableAlreadyExistsError):
        server.named().create_table("db.t", "id bigint")
    assert AT in server.tables


def made(server: SmallServer) -> tuple[RestCatalog, LoadedTable]:
    catalog = server.catalog()
    new = catalog.stage("db.t", lambda at: new_table_updates(SCHEMA, location=at))
    assert new.table is not None and new.ours is not None
    return catalog, new.table


def failing(catalog: RestCatalog, error: BaseException) -> None:
    """A save that made its table and fails."""
    new = catalog.stage("db.t", lambda at: new_table_updates(SCHEMA, location=at))
    with DropOnFailure(catalog, "db.t", new.ours):
        raise error


@pytest.mark.parametrize("error", [ValidationException("no"), KeyboardInterrupt(), OSError("disk")])
def test_a_table_created_for_a_failed_save_is_dropped(server: SmallServer, error: BaseException):
    with pytest.raises(type(error)):
        failing(server.catalog(), error)
    assert server.tables == {}


def test_it_stays_where_the_save_may_have_landed(server: SmallServer):
    with pytest.raises(CommitStateUnknownException):
        failing(server.catalog(), CommitStateUnknownException("who knows"))
    assert AT in server.tables


def test_it_stays_where_somebody_has_changed_it(server: SmallServer):
    catalog = server.catalog()
    new = catalog.stage("db.t", lambda at: new_table_updates(SCHEMA, location=at))
    server.named().load_table("db.t").append(rows(7))
    with pytest.raises(OSError, match="full"), DropOnFailure(catalog, "db.t", new.ours):
        raise OSError("full")
    assert AT in server.tables


def test_it_stays_where_it_is_another_by_now(server: SmallServer):
    catalog = server.catalog()
    new = catalog.stage("db.t", lambda at: new_table_updates(SCHEMA, location=at))
    server.named().drop_table("db.t")
    server.named().create_table("db.t", "id bigint")
    with pytest.raises(OSError, match="full"), DropOnFailure(catalog, "db.t", new.ours):
        raise OSError("full")
    assert AT in server.tables


def test_a_table_found_after_a_lost_response_is_not_dropped(server: SmallServer):
    answering_once(server, "POST", LOST)
    catalog = server.catalog()
    new = catalog.stage("db.t", lambda at: new_table_updates(SCHEMA, location=at))
    assert new.table is not None and new.ours is None


def test_a_failure_of_the_drop_leaves_the_first_error(server: SmallServer):
    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        refuses = request.method == "DELETE"
        return error(400, "BadRequestException", "purge it") if refuses else answer()

    server.meets = meets
    with pytest.raises(OSError, match="first"):
        failing(server.catalog(), OSError("first"))
    assert AT in server.tables


def test_rows_are_committed_to_the_table_that_was_made(server: SmallServer, tmp_path: Path):
    catalog = server.catalog()
    new = catalog.stage("db.t", lambda at: new_table_updates(SCHEMA, location=at))
    file = data_file(f"{new.location}/data/a.parquet", record_count=3)
    after = commit(catalog, "db.t", AppendFiles([file]), None, creation=new)
    assert after.metadata.table_uuid == new.table.metadata.table_uuid
    assert len(server.tables[AT][0].snapshots) == 1


@pytest.fixture
def place(server: SmallServer, monkeypatch: pytest.MonkeyPatch) -> TablePlace:
    """A name whose catalog is the server's, for saves that look catalogs up by name."""
    catalog = server.catalog()
    for module in ("plan_save", "commit_save"):
        monkeypatch.setattr(f"iceberg_spark.save.{module}.resolve", lambda *_: (catalog, "db.t"))
    return TablePlace("c.db.t", {})


def test_a_save_fills_the_table_created_for_it(server: SmallServer, place: TablePlace):
    plan = plan_save(WriteOptions(place.path), SCHEMA, overwrite=True)
    files = write_data_files(plan.context, plan.context.io, rows(1, 2).to_batches(), TaskId(0, 0))
    commit_save(place, plan, files)
    found = server.named().load_table("db.t")
    assert found.scan().to_arrow()["id"].to_pylist() == [1, 2]
    assert len(found.snapshots()) == 1


def test_a_save_that_is_broken_off_leaves_no_table(server: SmallServer, place: TablePlace):
    plan = plan_save(WriteOptions(place.path), SCHEMA, overwrite=False)
    assert AT in server.tables
    take_back(place, plan)
    assert server.tables == {}


def test_a_save_whose_commit_is_refused_leaves_neither_table_nor_files(
    server: SmallServer, place: TablePlace, tmp_path: Path
):
    plan = plan_save(WriteOptions(place.path), SCHEMA, overwrite=False)
    files = write_data_files(plan.context, plan.context.io, rows(1).to_batches(), TaskId(0, 0))

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        return error(403, "ForbiddenException") if request.method == "POST" else answer()

    server.meets = meets
    with pytest.raises(ForbiddenError):
        commit_save(place, plan, files)
    assert server.tables == {} and not list(tmp_path.rglob("*.*"))


def test_a_save_that_can_not_be_planned_leaves_no_table(server: SmallServer, place: TablePlace):
    options = WriteOptions(place.path, partition_by=("id",), write_format="nonsense")
    with pytest.raises(Exception, match="nonsense"):
        plan_save(options, SCHEMA, overwrite=False)
    assert server.tables == {}


def test_the_server_decides_about_a_requested_location(tmp_path: Path):
    server = SmallServer(tmp_path)
    new = server.catalog().stage(
        "db.t", lambda _: new_table_updates(SCHEMA, location=f"{tmp_path}/mine")
    )
    assert new.location == f"{tmp_path}/mine"
