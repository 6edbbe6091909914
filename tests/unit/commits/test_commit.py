"""The commit loop: what is tried again, what is removed, and when nothing is."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.commit import CleanupOnFailure, RetryPolicy, commit
from iceberg_spark.commits.conflicts import Planned
from iceberg_spark.commits.create_table import create_table
from iceberg_spark.commits.metadata_changes import UpdateProperties
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    IcebergError,
    InvalidOptionError,
    NoSuchFileError,
    StorageError,
    TableAlreadyExistsError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from tests.unit.commits.tables import (
    CATALOG,
    COLUMNS,
    IO,
    file,
    live,
    make_table,
    metadata_names,
    new_location,
    referenced_names,
    reloaded,
    run,
)


class Meddling(FileSystemCatalog):
    """A catalog where something happens before and after each commit."""

    __slots__ = ("after", "before", "commits")

    def __init__(
        self,
        before: Callable[[], object] = lambda: None,
        after: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__("meddling")
        self.before, self.after = before, after
        self.commits = 0

    def commit(self, *args: Any) -> LoadedTable:
        self.commits += 1
        self.before()
        committed = super().commit(*args)
        self.after()
        return committed


def once(action: Callable[[], object]) -> Callable[[], None]:
    left = [action]

    def do() -> None:
        if left:
            left.pop()()

    return do


def fail(error: IcebergError) -> Callable[[], None]:
    def do() -> None:
        raise error

    return do


def others_append(table: LoadedTable, name: str) -> Callable[[], object]:
    return lambda: run(reloaded(table), AppendFiles([file(table, name)], merge=False))


def test_preparing_a_snapshot_may_take_minutes(monkeypatch: pytest.MonkeyPatch):
    class Slow(AppendFiles):
        def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
            monkeypatch.setattr("time.time", lambda: base.last_updated_ms / 1000 + 600)
            return super().prepare(base, io)

    table = make_table()
    run(table, Slow([file(table, "a")]))
    committed = reloaded(table).metadata
    assert committed.last_updated_ms >= table.metadata.last_updated_ms + 600_000
    assert committed.snapshot_log[-1].timestamp_ms <= committed.last_updated_ms


def test_a_retried_fast_append_writes_one_new_manifest_list_and_no_manifest():
    table = make_table()
    catalog = Meddling(before=once(others_append(table, "other")))
    written: list[str] = []
    io = catalog._io
    create = type(io).create

    class Noting(type(io)):  # type: ignore[misc]
        __slots__ = ()

        def create(self, path: str) -> Any:
            written.append(path.rpartition("/")[2])
            return create(self, path)

    catalog._io = Noting()
    table = catalog.load(table.identifier)
    table = commit(catalog, table.identifier, AppendFiles([file(table, "a")], merge=False), table)
    assert catalog.commits == 2
    assert [name[:5] for name in written if name.startswith("snap-")] == ["snap-"] * 2
    assert len([name for name in written if not name.startswith("snap-")]) == 1
    assert live(table.metadata) == {"a", "other"}
    assert metadata_names(table) == referenced_names(table.metadata)


def test_a_retry_builds_on_the_newer_metadata():
    table = make_table()
    catalog = Meddling(before=once(others_append(table, "other")))
    action = AppendFiles([file(table, "a")])
    table = commit(catalog, table.identifier, action, table)
    head = table.metadata.current_snapshot
    assert head is not None
    assert head.sequence_number == 2
    assert head.parent_snapshot_id in table.metadata.snapshots
    assert head.summary["total-data-files"] == "2"
    assert str(head.manifest_list).rpartition("/")[2].split("-")[2] == "2"


def test_a_stale_base_is_planned_again():
    table = make_table()
    stale = table
    run(table, AppendFiles([file(table, "other")]))
    table = commit(CATALOG, table.identifier, AppendFiles([file(table, "a")]), stale)
    assert live(table.metadata) == {"a", "other"}


def test_a_retry_looks_for_conflicts_again():
    table = make_table()
    change = OverwriteFiles([file(table, "a")], planned=Planned(None))
    catalog = Meddling(before=once(others_append(table, "other")))
    with pytest.raises(ValidationException, match=r"other\.parquet"):
        commit(catalog, table.identifier, change, table)
    assert catalog.commits == 1  # it won the first validation and lost the swap
    assert live(reloaded(table).metadata) == {"other"}
    assert metadata_names(table) == referenced_names(reloaded(table).metadata)


@pytest.mark.parametrize("retries", [0, 2])
def test_a_commit_is_retried_as_configured_and_then_leaves_nothing(retries: int):
    table = make_table(**{"commit.retry.num-retries": str(retries)})
    catalog = Meddling(before=fail(CommitFailedException("lost")))
    with pytest.raises(CommitFailedException, match="lost"):
        commit(catalog, table.identifier, AppendFiles([file(table, "a")]), table)
    assert catalog.commits == retries + 1
    assert metadata_names(table) == set()
    assert reloaded(table) == table


def test_waits_double_from_the_least_to_the_longest_with_jitter():
    waits: list[float] = []
    policy = RetryPolicy(6, 100, 400, 1_800_000)

    def lose() -> None:
        raise CommitFailedException("lost")

    with pytest.raises(CommitFailedException):
        policy.retrying(waits.append)(lose)
    longest = [0.1, 0.2, 0.4, 0.4, 0.4, 0.4]
    assert len(waits) == 6
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True))


def test_the_total_time_bounds_the_tries():
    table = make_table(**{"commit.retry.num-retries": "50", "commit.retry.total-timeout-ms": "0"})
    catalog = Meddling(before=fail(CommitFailedException("lost")))
    with pytest.raises(CommitFailedException):
        commit(catalog, table.identifier, AppendFiles([file(table, "a")]), table)
    assert catalog.commits == 1


def test_a_bad_retry_property_is_named():
    with pytest.raises(InvalidOptionError, match=r"commit\.retry\.num-retries"):
        RetryPolicy.of({"commit.retry.num-retries": "many"})


def test_an_unknown_state_removes_nothing():
    table = make_table()
    catalog = Meddling(before=fail(CommitStateUnknownException("who knows")))
    action = AppendFiles([file(table, "a")])
    with pytest.raises(CommitStateUnknownException, match="who knows"):
        commit(catalog, table.identifier, action, table)
    assert len(metadata_names(table)) == 2
    assert catalog.commits == 1


def test_an_unknown_state_whose_snapshot_exists_has_succeeded():
    table = make_table()
    catalog = Meddling(after=fail(CommitStateUnknownException("who knows")))
    landed = commit(catalog, table.identifier, AppendFiles([file(table, "a")]), table)
    assert landed == reloaded(table)
    assert live(landed.metadata) == {"a"}
    assert catalog.commits == 1


@pytest.mark.parametrize("error", [UnsupportedError("no"), StorageError("disk")])
def test_a_commit_that_failed_for_good_leaves_the_table_as_it_was(error: IcebergError):
    table = make_table()
    catalog = Meddling(before=fail(error))
    with pytest.raises(type(error)):
        commit(catalog, table.identifier, AppendFiles([file(table, "a")]), table)
    assert metadata_names(table) == set()
    assert reloaded(table) == table


class Breaking:
    """An action that fails while it is prepared."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def validate(self, base: TableMetadata, io: FileIO) -> None: ...

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002
        raise self.error

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None: ...


@pytest.mark.parametrize("error", [ValidationException("no"), KeyError("bug"), KeyboardInterrupt()])
def test_what_earlier_actions_wrote_is_removed_when_a_later_one_fails(error: BaseException):
    table = make_table()
    with pytest.raises(type(error)):
        run(table, AppendFiles([file(table, "a")]), Breaking(error))
    assert metadata_names(table) == set()
    assert reloaded(table) == table


def test_several_actions_land_in_one_commit_each_on_what_the_former_did():
    table = make_table()
    changed = run(
        table,
        UpdateProperties({"a": "1"}),
        AppendFiles([file(table, "x")]),
        AppendFiles([file(table, "y")]),
    )
    assert len(changed.metadata.metadata_log) == 1
    assert [each.sequence_number for each in changed.metadata.snapshots.values()] == [1, 2]
    assert changed.metadata.properties["a"] == "1"
    assert live(changed.metadata) == {"x", "y"}
    assert metadata_names(changed) == referenced_names(changed.metadata)


def test_a_transaction_of_two_snapshots_is_retried_as_a_whole():
    table = make_table()
    catalog = Meddling(before=once(others_append(table, "other")))
    actions = [AppendFiles([file(table, "x")]), AppendFiles([file(table, "y")])]
    changed = commit(catalog, table.identifier, actions, table)
    assert live(changed.metadata) == {"x", "y", "other"}
    assert sorted(each.sequence_number for each in changed.metadata.snapshots.values()) == [1, 2, 3]
    assert metadata_names(changed) == referenced_names(changed.metadata)


@pytest.mark.parametrize("actions", [(), (UpdateProperties({"a": "1"}),)])
def test_a_change_that_changes_nothing_commits_nothing(actions: Iterable[Any]):
    table = make_table(a="1")
    assert run(table, *actions) is table
    assert reloaded(table) == table


def test_a_table_is_created_together_with_its_first_rows():
    where = new_location()
    table = create_table(CATALOG, where, COLUMNS, location=where)
    rows = [file(table, "a")]
    other = new_location()
    created = create_table(CATALOG, other, COLUMNS, location=other, actions=[AppendFiles(rows)])
    assert created.metadata_location.endswith("/v1.metadata.json")
    assert live(created.metadata) == {"a"}


def test_a_creation_that_loses_leaves_the_winner_alone_and_nothing_of_its_own():
    table = make_table()
    action = AppendFiles([file(table, "a")])
    with pytest.raises(TableAlreadyExistsError):
        create_table(
            CATALOG, table.identifier, COLUMNS, location=table.identifier, actions=[action]
        )
    assert metadata_names(table) == set()
    assert reloaded(table) == table


@pytest.mark.parametrize(
    ("error", "kept"),
    [(CommitStateUnknownException("?"), True), (CommitFailedException("no"), False)],
)
def test_new_data_files_go_unless_the_commit_may_have_landed(error: IcebergError, kept: bool):
    path = f"{new_location()}/data/a.parquet"
    IO.create_if_absent(path, b"rows")
    with pytest.raises(type(error)), CleanupOnFailure(IO, [path]):
        raise error
    assert IO.exists(path) is kept


def test_a_missing_manifest_list_is_named():
    table = run(make_table(), AppendFiles([]))
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None and snapshot.manifest_list is not None
    IO.delete(snapshot.manifest_list)
    with pytest.raises(NoSuchFileError, match=r"snap-.*\.avro"):
        run(table, AppendFiles([file(table, "a")]))
