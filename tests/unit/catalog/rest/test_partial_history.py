"""Lost answers of servers that show the newest snapshot only (Nessie), or have expired some."""

import json
from pathlib import Path

import httpx
import pyarrow as pa
import pytest

from iceberg_spark import Table
from iceberg_spark.catalog.rest.commit import can_tell
from iceberg_spark.errors import CommitStateUnknownException, UnsupportedError
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot, SnapshotRef, SnapshotRefType
from iceberg_spark.spec.types import LongType, NestedField
from tests.unit.catalog.rest.small_server import Answer, SmallServer


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def ids(table: Table) -> list[int]:
    return sorted(table.scan().to_arrow()["id"].to_pylist())


def newest_only(answer: httpx.Response) -> httpx.Response:
    """As Nessie shows a table: one snapshot, without its parent."""
    node = json.loads(answer.content)
    metadata = node.get("metadata", {})
    for key in ("snapshots", "snapshot-log"):
        metadata[key] = metadata.get(key, [])[-1:]
    for one in metadata["snapshots"]:
        one.pop("parent-snapshot-id", None)
    return httpx.Response(200, json=node, headers={"ETag": answer.headers.get("ETag", "")})


@pytest.mark.parametrize("first", [[], [1]])
@pytest.mark.parametrize("lands", [True, False])
def test_rows_are_not_doubled_where_ones_own_snapshot_is_shown_no_more(
    tmp_path: Path, first: list[int], lands: bool
):
    server = SmallServer(tmp_path)
    made = server.named().create_table("db.t", "id bigint")
    if first:
        made.append(rows(*first))
    table = server.named().load_table("db.t")
    left = [True]

    def meets(request: httpx.Request, answer: Answer) -> httpx.Response:
        if request.method == "POST" and request.url.path.endswith("/t") and left:
            left.clear()
            if lands:
                answer()
            other.append(rows(9))
            raise httpx.ReadError("connection reset")
        found = answer()
        return newest_only(found) if found.is_success and request.method == "GET" else found

    other = server.named().load_table("db.t")
    server.meets = meets
    if lands:
        with pytest.raises(CommitStateUnknownException):
            table.append(rows(2))
    else:
        table.append(rows(2))
    server.meets = lambda _, answer: answer()
    assert ids(server.named().load_table("db.t")) == sorted([*first, 2, 9])


def test_a_table_of_a_lower_version_than_requested_is_refused(tmp_path: Path):
    """Nessie prepares one of version 2 where 3 was asked for."""
    server = SmallServer(tmp_path, ignores_version=True)
    with pytest.raises(UnsupportedError, match="version 2, and 3"):
        server.named().create_table("db.t", "id bigint", properties={"format-version": "3"})
    assert server.tables == {}


def grown(base: TableMetadata, *ids: int) -> TableMetadata:
    for number in ids:
        head = base.refs["main"].snapshot_id if base.refs else None
        next_one = base.last_sequence_number + 1 if base.format_version > 1 else 0
        snapshot = Snapshot(number, number, "/w/l", head, next_one, {"operation": "append"})
        ref = SnapshotRef(number, SnapshotRefType.BRANCH)
        updates = (u.AddSnapshot(snapshot), u.SetSnapshotRef("main", ref))
        base = apply(base, updates, now_ms=number)
    return base


OURS = (
    u.AddSnapshot(Snapshot(99, 5, "/w/list.avro", 1, 2, {"operation": "append"})),
    u.SetSnapshotRef("main", SnapshotRef(99, SnapshotRefType.BRANCH)),
)


@pytest.mark.parametrize("version", [1, 2])
def test_a_history_tells_where_all_after_the_base_is_shown(version: int):
    empty = new_metadata(
        Schema(NestedField(1, "id", LongType())), location="/w/t", now_ms=1, format_version=version
    )
    base = grown(empty, 11)
    now = grown(base, 12, 13)
    assert can_tell(base, base, OURS) and can_tell(base, now, OURS)
    assert can_tell(empty, now, OURS) and can_tell(empty, empty, OURS)
    for gone in (12, 13):
        less = apply(now, (u.RemoveSnapshots((gone,)),), now_ms=20)
        assert not can_tell(base, less, OURS)
    assert can_tell(now, apply(now, (u.RemoveSnapshots((12,)),), now_ms=20), OURS)
    assert can_tell(base, now, (u.SetProperties({"a": "1"}),))
