"""A view's pointer that is moved by compare-and-swap, and answers that are lost on the way."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tenacity import nap

import iceberg_spark as ice
from iceberg_spark.catalog.pointer_views import PointerViews
from iceberg_spark.catalog.trust import Trust
from iceberg_spark.catalog.view_file import StoredView
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    CorruptFileError,
    InvalidInputError,
    NoSuchViewError,
    StorageError,
    UnsupportedError,
    ViewAlreadyExistsError,
)
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.io.storage import open_storage
from tests.unit.spec.test_next_view import new

Trouble = Exception | Callable[[], None]


class Kept:
    """Pointers in a dict; `before` and `after` are what breaks around a change, in turn."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.at: dict[str, str] = {}
        self.before: list[Trouble] = []
        self.after: list[Trouble] = []

    def find(self, identifier: str) -> str | None:
        return self.at.get(identifier)

    def insert(self, made: StoredView) -> bool:
        return self._done(made.identifier, None, made.metadata_location)

    def move(self, base: StoredView, made: StoredView) -> bool:
        return self._done(made.identifier, base.metadata_location, made.metadata_location)

    def _done(self, identifier: str, before: str | None, after: str) -> bool:
        happen(self.before)
        moved = self.at.get(identifier) == before
        if moved:
            self.at[identifier] = after
        happen(self.after)
        return moved

    def remove(self, identifier: str, at: str) -> bool:
        happen(self.before)
        is_there = self.at.get(identifier) == at
        if is_there:
            del self.at[identifier]
        return is_there

    def default_location(self, identifier: str) -> str:
        return str(self.home / identifier)


def happen(troubles: list[Trouble]) -> None:
    if troubles:
        trouble = troubles.pop(0)
        if isinstance(trouble, Exception):
            raise trouble
        trouble()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(nap.time, "sleep", lambda _: None)
    return Kept(tmp_path)


@pytest.fixture
def views(kept: Kept) -> PointerViews:
    pointers: Any = kept
    return PointerViews("c", pointers, open_storage({}), Trust("c", {}))


def files(kept: Kept) -> list[Path]:
    return sorted(kept.home.glob("**/*.metadata.json"))


def text_of(views: PointerViews) -> str | None:
    return views.load("v").current_version.sql_for("spark")


def changed_by_another(views: PointerViews, kept: Kept) -> Callable[[], None]:
    def change() -> None:
        kept.before = []
        views.replace("v", views.load("v"), new("SELECT 'another'", 9))

    return change


def test_a_catalog_on_another_machine_names_no_local_view(views: PointerViews, kept: Kept) -> None:
    views.create("v", new("SELECT 1"))
    pointers: Any = kept
    remote = Trust("c", {"uri": "postgresql://db.example.com/x"})
    elsewhere = PointerViews("c", pointers, open_storage({}), remote)
    with pytest.raises(UnsupportedError, match=r"io\.allowed-schemes"):
        elsewhere.load("v")
    elsewhere.drop("v")  # the name goes, and no file of this machine
    assert not elsewhere.exists("v")
    assert len(files(kept)) == 1


def test_a_view_is_a_gzip_file_as_java_names_it(views: PointerViews, kept: Kept) -> None:
    views.create("v", new("SELECT 1"))
    views.replace("v", views.load("v"), new("SELECT 2"))
    first, second = (path.name for path in files(kept))
    assert first.startswith("00000-") and second.startswith("00001-")
    assert second.endswith(".gz.metadata.json")
    node = json.loads(gzip.decompress(files(kept)[1].read_bytes()))
    assert node["current-version-id"] == 2 and node["location"] == str(kept.home / "v")


def test_properties_say_how_and_where_a_file_is_written(views: PointerViews, kept: Kept) -> None:
    views.create(
        "v",
        new(
            "SELECT 1",
            **{
                "write.metadata.compression-codec": "none",
                "write.metadata.path": f"{kept.home}/elsewhere",
            },
        ),
    )
    (path,) = files(kept)
    assert path.parent.name == "elsewhere" and json.loads(path.read_bytes())["format-version"] == 1


def test_a_view_is_stored_at_the_requested_location_and_moves(
    views: PointerViews, kept: Kept
) -> None:
    first, second = (str(kept.home / name / "v") for name in ("first", "second"))
    made = views.create("v", replace(new("SELECT 1"), location=first))
    assert made.location == views.load("v").location == first
    views.replace("v", made, new("SELECT 2"))
    assert len(list(Path(first).glob("metadata/*"))) == 2
    views.replace("v", made, replace(new("SELECT 2"), location=second))
    assert views.load("v").location == second and text_of(views) == "SELECT 2"
    (path,) = Path(second).glob("metadata/*")
    assert kept.at["v"] == str(path) and path.name.startswith("00002-")
    views.replace("v", views.load("v"), replace(new("SELECT 3"), location=first))
    views.drop("v")
    assert files(kept) == [path]


def test_views_in_one_folder_have_each_their_own_files(views: PointerViews, kept: Kept) -> None:
    for name in "vw":
        views.create(name, replace(new(f"SELECT '{name}'"), location=str(kept.home / "both")))
    (kept.home / "both" / "metadata" / "00000-mine.metadata.json").write_text("not a view's")
    views.drop("v")
    assert len(files(kept)) == 2
    assert views.load("w").current_version.sql_for("spark") == "SELECT 'w'"


@pytest.mark.parametrize("folder", ["t", "t/", "t/data/v", "t/metadata", "delta"])
def test_a_view_is_in_no_folder_of_a_table(views: PointerViews, kept: Kept, folder: str) -> None:
    table = ice.create_table(str(kept.home / "t"), "id long")
    table.append(pa.table({"id": [1]}))
    (kept.home / "delta" / "_delta_log").mkdir(parents=True)
    asked = replace(new("SELECT 1"), location=f"{kept.home}/{folder}")
    made = views.create("w", new("SELECT 1"))
    before = files(kept)
    for use in (lambda: views.create("v", asked), lambda: views.replace("w", made, asked)):
        with pytest.raises(InvalidInputError, match=r"A view can't be at .*: say a folder"):
            use()
    assert files(kept) == before and not views.exists("v") and views.load("w") == made


def test_a_table_of_a_catalog_is_recognised_by_its_numbered_files(
    views: PointerViews, kept: Kept
) -> None:
    views.create("v", new("SELECT 1"))
    catalog = ice.load_catalog("in_memory", type="memory", warehouse=f"{kept.home}/wh")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", "id long")
    with pytest.raises(InvalidInputError, match="it is a table's"):
        views.create("w", replace(new("SELECT 1"), location=table.location()))
    views.create("w", replace(new("SELECT 1"), location=f"{table.location()}/views/w"))
    assert table.refresh().metadata_location and views.exists("w")


def test_a_name_is_taken_once(views: PointerViews, kept: Kept) -> None:
    views.create("v", new("SELECT 1"))
    with pytest.raises(ViewAlreadyExistsError):
        views.create("v", new("SELECT 2"))
    kept.before = [lambda: kept.at.__setitem__("w", "taken meanwhile")]
    with pytest.raises(ViewAlreadyExistsError):
        views.create("w", new("SELECT 2"))
    assert len(files(kept)) == 1 and text_of(views) == "SELECT 1"


def test_a_change_that_lost_is_applied_to_the_newer_view(views: PointerViews, kept: Kept) -> None:
    views.create("v", new("SELECT 1"))
    base = views.load("v")
    kept.before = [changed_by_another(views, kept)]
    views.update_properties("v", base, {"k": "v"}, ())
    assert text_of(views) == "SELECT 'another'" and views.load("v").properties == {"k": "v"}
    assert len(files(kept)) == 3


def test_a_change_that_always_loses_is_refused(views: PointerViews, kept: Kept) -> None:
    views.create("v", new("SELECT 1"))
    kept.before = [lambda: kept.at.__setitem__("v", moved())] * 9

    def moved() -> str:
        place = Path(kept.at["v"])
        copied = place.with_name(f"{len(files(kept)):05d}-copy.gz.metadata.json")
        copied.write_bytes(place.read_bytes())
        return str(copied)

    with pytest.raises(CommitFailedException, match="changed by others"):
        views.replace("v", views.load("v"), new("SELECT 2"))
    assert text_of(views) == "SELECT 1"


def test_another_view_of_the_name_is_not_changed(views: PointerViews) -> None:
    views.create("v", new("SELECT 1"))
    base = views.load("v")
    views.drop("v")
    views.create("v", new("SELECT 7"))
    with pytest.raises(CommitFailedException, match="another view"):
        views.replace("v", base, new("SELECT 2"))
    assert text_of(views) == "SELECT 7"


def test_another_view_that_got_the_name_meanwhile_is_dropped_and_none_else(
    views: PointerViews, kept: Kept
) -> None:
    """A file that was read belongs to a view of another name now."""
    views.create("v", new("SELECT 1"))

    def renamed() -> None:
        kept.before = []
        kept.at["w"] = kept.at.pop("v")
        views.create("v", new("SELECT 2"))

    kept.before = [renamed]
    views.drop("v")
    assert not views.exists("v")
    assert views.load("w").current_version.sql_for("spark") == "SELECT 1"


def test_a_view_is_not_dropped_where_its_store_fails(
    views: PointerViews, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    views.create("v", new("SELECT 1"))

    def no_answer(*_: object) -> bytes:
        raise StorageError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(FsspecIO, "read_bytes", no_answer)
        with pytest.raises(StorageError):
            views.drop("v")
    assert text_of(views) == "SELECT 1"


LOST = StorageError("the answer is lost")


def test_a_request_without_a_response_is_repeated(views: PointerViews, kept: Kept) -> None:
    kept.after = [LOST]
    views.create("v", new("SELECT 1"))  # it was made
    kept.before = [LOST]
    views.replace("v", views.load("v"), new("SELECT 2"))  # it was not
    assert text_of(views) == "SELECT 2" and len(files(kept)) == 2


def test_what_stays_unclear_keeps_its_file(views: PointerViews, kept: Kept) -> None:
    kept.after = [LOST] * 9
    with pytest.raises(CommitStateUnknownException):
        views.create("v", new("SELECT 1"))
    kept.after = []
    assert text_of(views) == "SELECT 1"


def test_a_change_after_a_lost_answer_leaves_it_unclear(views: PointerViews, kept: Kept) -> None:
    views.create("v", new("SELECT 1"))

    def lost_and_overtaken() -> None:
        kept.after = []
        views.replace("v", views.load("v"), new("SELECT 'another'", 9))
        raise LOST

    kept.after = [lost_and_overtaken]
    with pytest.raises(CommitStateUnknownException):
        views.replace("v", views.load("v"), new("SELECT 2"))
    assert len(files(kept)) == 3


def test_a_refused_change_leaves_no_file(views: PointerViews, kept: Kept) -> None:
    kept.before = [UnsupportedError("no")]
    with pytest.raises(UnsupportedError):
        views.create("v", new("SELECT 1"))
    assert files(kept) == []


def test_a_dropped_views_file_is_deleted_unless_disabled(views: PointerViews, kept: Kept) -> None:
    views.create("v", new("SELECT 1"))
    views.replace("v", views.load("v"), new("SELECT 2"))
    views.drop("v")
    assert files(kept) == []
    views.create("v", new("SELECT 1", **{"gc.enabled": "false"}))
    views.drop("v")
    assert len(files(kept)) == 1
    with pytest.raises(NoSuchViewError):
        views.drop("v")


def test_a_view_whose_file_is_lost_is_broken_and_can_be_dropped(
    views: PointerViews, kept: Kept
) -> None:
    views.create("v", new("SELECT 1"))
    files(kept)[0].unlink()
    with pytest.raises(CorruptFileError, match="no such file"):
        views.load("v")
    views.drop("v")
    assert not views.exists("v")


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b cut", b"[]", b'{"format-version": 1}'])
def test_a_broken_file_is_named(views: PointerViews, kept: Kept, data: bytes) -> None:
    views.create("v", new("SELECT 1"))
    path = files(kept)[0]
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match=path.name):
        views.load("v")
