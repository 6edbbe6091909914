"""A pointer that is moved by compare-and-swap, and answers that are lost on the way."""

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tenacity import nap

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.pointer_catalog import PointerCatalog
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    CorruptFileError,
    NoSuchTableError,
    StorageError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.requirements import AssertCreate, requirements_for
from iceberg_spark.spec.updates import SetProperties, TableUpdate
from tests.builders import schema


class Kept:
    """Pointers in a dict; `before` and `after` are what breaks around a move, in turn."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.at: dict[str, str] = {}
        self.before: list[Exception | Callable[[], None] | None] = []
        self.after: list[Exception | Callable[[], None] | None] = []
        self.lookups: list[Exception] = []

    def find(self, identifier: str) -> str | None:
        if self.lookups:
            raise self.lookups.pop(0)
        return self.at.get(identifier)

    def insert(self, made: LoadedTable) -> bool:
        return self._done(made.identifier, None, made.metadata_location)

    def move(self, base: LoadedTable, made: LoadedTable) -> bool:
        return self._done(made.identifier, base.metadata_location, made.metadata_location)

    def _done(self, identifier: str, before: str | None, after: str) -> bool:
        _break(self.before)
        moved = self.at.get(identifier) == before
        if moved:
            self.at[identifier] = after
        _break(self.after)
        return moved

    def remove(self, identifier: str, expected: str | None = None) -> bool:
        there = self.at.get(identifier)
        if there is None or there != (expected or there):
            return False
        del self.at[identifier]
        return True

    def default_location(self, identifier: str) -> str:
        return str(self.home / identifier)


def _break(faults: list[Any]) -> None:
    fault = faults.pop(0) if faults else None
    if isinstance(fault, Exception):
        raise fault
    if fault is not None:
        fault()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(nap.time, "sleep", lambda _: None)
    return Kept(tmp_path)


@pytest.fixture
def catalog(kept: Kept) -> PointerCatalog:
    def never(name: str, properties: Mapping[str, str]) -> PointerCatalog:
        raise AssertionError

    return PointerCatalog("c", {}, kept, None, never)  # type: ignore[arg-type]


def create(catalog: PointerCatalog) -> LoadedTable:
    updates = new_table_updates(schema(("id", "long")), location=catalog.location_of("db.t"))
    return catalog.commit("db.t", [AssertCreate()], updates, None)


def change(catalog: PointerCatalog, base: LoadedTable, **properties: str) -> LoadedTable:
    updates: list[TableUpdate] = [SetProperties(properties)]
    return catalog.commit("db.t", requirements_for(base.metadata, updates), updates, base)


def files(kept: Kept) -> set[str]:
    return {str(path) for path in (kept.home / "db.t/metadata").glob("*.metadata.json")}


LOST = StorageError("the connection was cut")


@pytest.mark.parametrize("faults", [("before",), ("after",), ("before", "after"), ("after",) * 3])
def test_a_move_whose_answer_is_lost_lands_once(
    catalog: PointerCatalog, kept: Kept, faults: tuple[str, ...]
) -> None:
    base = create(catalog)
    for when in faults:
        getattr(kept, when).append(LOST)
    made = change(catalog, base, a="1")
    assert kept.at == {"db.t": made.metadata_location}
    assert catalog.load("db.t").metadata.properties == {"a": "1"}
    assert files(kept) == {base.metadata_location, made.metadata_location}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_creation_whose_answer_is_lost_lands_once(
    catalog: PointerCatalog, kept: Kept, when: str
) -> None:
    getattr(kept, when).append(LOST)
    assert create(catalog) == catalog.load("db.t")


def test_a_commit_that_others_built_on_before_its_retry_has_succeeded(
    catalog: PointerCatalog, kept: Kept
) -> None:
    base = create(catalog)

    def another_follows_and_the_answer_is_lost() -> None:
        change(catalog, catalog.load("db.t"), b="2")
        raise LOST

    kept.after.append(another_follows_and_the_answer_is_lost)
    change(catalog, base, a="1")
    assert catalog.load("db.t").metadata.properties == {"a": "1", "b": "2"}


def test_a_commit_that_lost_while_its_answer_was_lost_is_refused_and_leaves_no_file(
    catalog: PointerCatalog, kept: Kept
) -> None:
    base = create(catalog)

    def another_wins_and_the_answer_is_lost() -> None:
        change(catalog, base, b="2")
        raise LOST

    kept.before.append(another_wins_and_the_answer_is_lost)
    with pytest.raises(CommitFailedException, match="another commit"):
        change(catalog, base, a="1")
    newest = catalog.load("db.t")
    assert newest.metadata.properties == {"b": "2"}
    assert files(kept) == {base.metadata_location, newest.metadata_location}


def test_a_commit_that_nobody_can_look_after_is_unknown_and_removes_nothing(
    catalog: PointerCatalog, kept: Kept
) -> None:
    base = create(catalog)
    kept.after = [LOST] * 9
    with pytest.raises(CommitStateUnknownException, match="may have landed"):
        change(catalog, base, a="1")
    assert catalog.load("db.t").metadata.properties == {"a": "1"}
    assert len(files(kept)) == 2


def test_a_commit_whose_log_no_longer_reaches_back_is_unknown(
    catalog: PointerCatalog, kept: Kept
) -> None:
    base = change(catalog, create(catalog), **{"write.metadata.previous-versions-max": "1"})

    def others_follow_and_the_answer_is_lost() -> None:
        for number in range(3):
            change(catalog, catalog.load("db.t"), n=str(number))
        raise LOST

    kept.after.append(others_follow_and_the_answer_is_lost)
    with pytest.raises(CommitStateUnknownException):
        change(catalog, base, a="1")
    assert catalog.load("db.t").metadata.properties["a"] == "1"


def test_a_commit_whose_table_was_renamed_while_its_answer_was_lost_keeps_its_file(
    catalog: PointerCatalog, kept: Kept
) -> None:
    base = create(catalog)

    def another_renames_and_the_answer_is_lost() -> None:
        kept.at["db.u"] = kept.at.pop("db.t")
        raise LOST

    kept.after.append(another_renames_and_the_answer_is_lost)
    with pytest.raises(CommitStateUnknownException):
        change(catalog, base, a="1")
    assert catalog.load("db.u").metadata.properties == {"a": "1"}


def test_a_refusal_after_a_lost_answer_does_not_say_that_nothing_landed(
    catalog: PointerCatalog, kept: Kept
) -> None:
    base = create(catalog)
    kept.after = [LOST]
    kept.before = [None, UnsupportedError("read-only now")]
    with pytest.raises(CommitStateUnknownException):
        change(catalog, base, a="1")
    assert catalog.load("db.t").metadata.properties == {"a": "1"}


def test_a_refusal_leaves_no_file(catalog: PointerCatalog, kept: Kept) -> None:
    base = create(catalog)
    kept.before = [UnsupportedError("read-only")]
    with pytest.raises(UnsupportedError, match="read-only"):
        change(catalog, base, a="1")
    assert files(kept) == {base.metadata_location}


def test_a_name_that_is_taken_meanwhile_is_refused(catalog: PointerCatalog, kept: Kept) -> None:
    kept.before = [lambda: kept.at.update({"db.t": str(kept.home / "other.metadata.json")})]
    with pytest.raises(TableAlreadyExistsError):
        create(catalog)
    assert files(kept) == set()


def test_a_table_whose_file_is_missing_is_broken_and_not_absent(
    catalog: PointerCatalog, kept: Kept
) -> None:
    kept.at["db.t"] = str(kept.home / f"00001-{uuid.uuid4()}.metadata.json")
    with pytest.raises(CorruptFileError, match="there is no such file"):
        catalog.load("db.t")
    assert catalog.table_exists("db.t")


def test_a_failed_lookup_does_not_mean_a_missing_table(catalog: PointerCatalog, kept: Kept) -> None:
    create(catalog)
    kept.lookups = [LOST]
    with pytest.raises(StorageError):
        catalog.load("db.t")
    with pytest.raises(NoSuchTableError):
        catalog.load("db.other")
