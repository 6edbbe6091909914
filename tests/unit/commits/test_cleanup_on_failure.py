"""From its hand-over until the catalog refuses it, nothing that a commit refers to is removed."""

from typing import Any

import pytest

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.commits.create_table import create_table
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    StorageError,
    TableAlreadyExistsError,
)
from iceberg_spark.io.fsspec_io import FsspecIO
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
)

INTERRUPTS = [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError]


class Broken(FileSystemCatalog):
    """A catalog whose commit is broken off before or after it took effect."""

    __slots__ = ("after", "before")

    def __init__(self, before: Any = None, after: Any = None) -> None:
        super().__init__("broken")
        self.before, self.after = before, after

    def commit(self, *args: Any) -> LoadedTable:
        if self.before is not None:
            raise self.before
        super().commit(*args)
        raise self.after


class BrokenIO(FsspecIO):
    """Storage where a method raises once after a file was created with `create_if_absent`."""

    __slots__ = ("armed_by", "breaks", "how")

    def create_if_absent(self, path: str, data: bytes) -> None:
        super().create_if_absent(path, data)
        self.armed_by = path

    def _broken(self, method: str) -> None:
        if self.armed_by and method == self.breaks:
            self.armed_by = ""
            raise self.how

    def exists(self, path: str) -> bool:
        self._broken("exists")
        return super().exists(path)

    def replace(self, path: str, data: bytes) -> None:
        self._broken("replace")
        super().replace(path, data)

    def list(self, prefix: str) -> Any:
        self._broken("list")
        return super().list(prefix)

    def delete(self, path: str) -> None:
        self._broken("delete")
        super().delete(path)


def breaking(method: str, how: BaseException) -> FileSystemCatalog:
    catalog = FileSystemCatalog("c")
    io = BrokenIO()
    io.armed_by, io.breaks, io.how = "", method, how
    catalog._io = io
    return catalog


def written(table: LoadedTable, name: str = "a") -> str:
    path = f"{table.metadata.location}/data/{name}.parquet"
    IO.create_if_absent(path, b"rows")
    return path


@pytest.mark.parametrize("interrupt", INTERRUPTS)
@pytest.mark.parametrize("landed", [True, False])
def test_an_interrupt_after_the_hand_over_leaves_the_state_unknown_and_every_file(
    interrupt: type[BaseException], landed: bool
):
    table = make_table()
    path = written(table)
    catalog = Broken(after=interrupt()) if landed else Broken(before=interrupt())
    action = AppendFiles([file(table, "a")])
    with (
        pytest.raises(CommitStateUnknownException, match="may have landed") as caught,
        CleanupOnFailure(IO, [path]) as commit_state,
    ):
        commit(catalog, table.identifier, action, table, commit_state=commit_state)
    assert isinstance(caught.value.__cause__, interrupt)
    assert IO.exists(path)
    assert len(metadata_names(table)) == 2
    assert live(reloaded(table).metadata) == ({"a"} if landed else set())


@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_an_interrupt_after_the_commit_removes_nothing_and_reports_success(
    interrupt: type[BaseException],
):
    table = make_table()
    path = written(table)
    action = AppendFiles([file(table, "a")])

    def append() -> None:
        with CleanupOnFailure(IO, [path]) as commit_state:
            commit(CATALOG, table.identifier, action, table, commit_state=commit_state)
            raise interrupt

    with pytest.raises(CommitStateUnknownException, match="has landed"):
        append()
    assert IO.exists(path)
    assert live(reloaded(table).metadata) == {"a"}


def test_an_interrupt_between_two_tries_comes_after_a_refusal_and_leaves_nothing():
    table = make_table()
    path = written(table)

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), CleanupOnFailure(IO, [path]) as commit_state:
        commit(
            Broken(before=CommitFailedException("lost")),
            table.identifier,
            AppendFiles([file(table, "a")]),
            table,
            commit_state=commit_state,
            sleep=interrupted,
        )
    assert not IO.exists(path)
    assert metadata_names(table) == set()


@pytest.mark.parametrize("method", ["exists", "replace", "delete"])
@pytest.mark.parametrize("error", [StorageError("gone"), OSError("raw"), KeyboardInterrupt()])
def test_a_store_that_fails_after_the_swap_undoes_nothing(method: str, error: BaseException):
    quick = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    }
    table = make_table(**quick)
    for name in ("x", "y"):
        table = commit(CATALOG, table.identifier, AppendFiles([file(table, name)]), table)
    path = written(table)
    ended: list[BaseException] = []
    try:
        with CleanupOnFailure(IO, [path]) as commit_state:
            commit(
                breaking(method, error),
                table.identifier,
                AppendFiles([file(table, "a")]),
                table,
                commit_state=commit_state,
            )
    except CommitStateUnknownException as unknown:
        ended.append(unknown)
    after = reloaded(table).metadata
    assert live(after) == {"a", "x", "y"}
    assert IO.exists(path)
    assert referenced_names(after) <= metadata_names(table)
    # a store that can't be asked whether others came meanwhile is looked at another way
    assert not ended or not isinstance(error, StorageError)


def test_a_creation_whose_folder_can_not_be_listed_afterwards_has_landed():
    where = new_location()
    rows = AppendFiles([file(make_table(), "a")])
    catalog = breaking("list", StorageError("no listing"))
    table = create_table(catalog, where, COLUMNS, location=where, actions=[rows])
    assert live(reloaded(table).metadata) == {"a"}


class ExistsIO(FsspecIO):
    """Storage whose driver sends a creation twice, and so hears "exists" about its own file."""

    __slots__ = ()

    def create_if_absent(self, path: str, data: bytes) -> None:
        super().create_if_absent(path, data)
        super().create_if_absent(path, data)


def test_exists_about_our_own_file_is_no_refusal():
    table = make_table()
    catalog = FileSystemCatalog("c")
    catalog._io = ExistsIO()
    changed = commit(catalog, table.identifier, AppendFiles([file(table, "a")]), table)
    assert changed == reloaded(table)
    assert live(changed.metadata) == {"a"}
    assert referenced_names(changed.metadata) == metadata_names(table)


def test_exists_about_our_own_creation_is_no_refusal():
    where = new_location()
    catalog = FileSystemCatalog("c")
    catalog._io = ExistsIO()
    table = create_table(catalog, where, COLUMNS, location=where)
    assert table == reloaded(table)
    with pytest.raises(TableAlreadyExistsError):
        create_table(catalog, where, COLUMNS, location=where)


class ForgetfulCatalog(FileSystemCatalog):
    """A catalog that takes its own success for another's."""

    __slots__ = ("commits",)

    def commit(self, *args: Any) -> LoadedTable:
        self.commits += 1
        super().commit(*args)
        raise CommitFailedException("another came first")


def test_a_commit_that_finds_its_own_snapshot_is_not_repeated():
    table = make_table()
    catalog = ForgetfulCatalog("c")
    catalog.commits = 0
    changed = commit(catalog, table.identifier, AppendFiles([file(table, "a")]), table)
    assert catalog.commits == 1
    assert len(changed.metadata.snapshots) == 1
    assert live(changed.metadata) == {"a"}
    assert referenced_names(changed.metadata) == metadata_names(table)


class ShortIO(FsspecIO):
    """Storage that loses the answer to a creation, and whose next answers are cut short."""

    __slots__ = ("lost",)

    def create_if_absent(self, path: str, data: bytes) -> None:
        super().create_if_absent(path, data)
        self.lost += 1
        raise StorageError("lost")

    def read_bytes(self, path: str) -> bytes:
        data = super().read_bytes(path)
        return data[: len(data) // 2] if self.lost else data


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_half_of_our_own_file_is_not_taken_for_anothers(codec: str):
    table = make_table(**{"write.metadata.compression-codec": codec})
    catalog = FileSystemCatalog("c")
    catalog._io = ShortIO()
    catalog._io.lost = 0
    with pytest.raises(CommitStateUnknownException):
        commit(catalog, table.identifier, AppendFiles([file(table, "a")]), table)
    assert live(reloaded(table).metadata) == {"a"}
