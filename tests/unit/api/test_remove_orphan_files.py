"""Orphan files: what is deleted, and above all what is not (Java: DeleteOrphanFilesSparkAction)."""

import json
import os
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    NoSuchFileError,
    StorageError,
    ValidationException,
)
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.maintenance import named_files, orphan_files
from iceberg_spark.maintenance.file_keys import Equal, FileKeys
from iceberg_spark.maintenance.named_files import (
    NamedFiles,
    PrefixMismatch,
    candidates,
    unreferenced_files,
)
from tests.limits import set_limits
from tests.unit.api.tables import files_below, ids, make, make_anywhere, rows

WEEK_S = 7 * 24 * 3600


@pytest.fixture(autouse=True, params=[500_000, 0], ids=["small", "large"])
def hashed_from_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """All tables are small or large ones, whose files in use are left out of the listing."""
    set_limits(monkeypatch, named_files, "ORPHANS", hashed_from_files=request.param)
    return int(request.param)


def aged(folder: Path) -> Path:
    """Make everything in a folder a week old."""
    then = time.time() - WEEK_S
    for path in folder.rglob("*"):
        os.utime(path, (then, then), follow_symlinks=False)
    return folder


def put(folder: Path, *names: str) -> set[str]:
    """Add files that no table knows; return them."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"stray")
    return set(names)


def with_history(folder: Path) -> Table:
    """A table with several snapshots, deletes of both kinds, a tag, a branch and old metadata."""
    table = make(folder, partition_by=["k"])
    table.append(rows(id=[1, 2, 3], k=["a", "a", "b"]))
    table.manage_snapshots().create_tag(None, "first").create_branch(None, "audit").commit()
    with table.transaction() as tx:
        tx.set_properties({"write.delete.mode": "merge-on-read"})
        tx.delete("id = 1")
    table.upsert(rows(id=[2, 9], k=["a", "c"]), ["id", "k"])
    table.append(rows(id=[50], k=["z"]), branch="audit")
    table.overwrite(rows(id=[7], k=["b"]), "k = 'b'")
    return table


def removed(table: Table, folder: Path, **given: Any) -> set[str]:
    """What a run says it deleted, by path below a folder; checked against what is there."""
    before = files_below(folder)
    result = table.maintenance.remove_orphan_files(**given)
    gone = before - files_below(folder)
    said = {
        str(Path(one.removeprefix("file:")).relative_to(folder))
        for one in result.orphan_file_locations
    }
    assert gone <= said
    assert gone == (set() if result.dry_run else said)
    return said


def test_a_table_with_everything_in_it_loses_only_its_strays(tmp_path: Path) -> None:
    where = tmp_path / "t"
    table = with_history(where)
    table.maintenance.expire_snapshots(older_than=1)
    sibling = make_anywhere(f"{where}_2")
    nested = make_anywhere(where / "below" / "nested")
    inner = make_anywhere(where / "data" / "inner")
    for other in (sibling, nested, inner):
        other.append(rows(id=[1], k=["x"]))
    put(where, "below/nested/data/not_theirs.parquet", "below/nested/any")  # theirs to judge
    put(where, "_SUCCESS", "data/.hidden", "data/_temporary/0/part", "metadata/.v9.crc")
    put(where, "check/offsets/3", "check/commits/3", "check/metadata", "check/state/0/1.delta")
    put(tmp_path, "t_2/data/stray.parquet", "elsewhere/data.parquet")
    strays = put(
        where,
        "data/k=a/stray.parquet",
        "data/un=used/x y%20z+.orc",
        "metadata/old-m0.avro",
        "metadata/snap-1.avro",
        "stray",
        "metadata/left.puffin",
        "data/k=a/ü.avro",
    )
    aged(tmp_path)
    fresh = put(where, "data/k=a/in-progress.parquet")
    snapshots = {
        each.snapshot_id: ids(table, snapshot_id=each.snapshot_id) for each in table.snapshots()
    }
    assert removed(table, tmp_path) == {f"t/{name}" for name in strays}
    assert fresh <= files_below(where)
    again = ice.load_table(str(where))
    assert {number: ids(again, snapshot_id=number) for number in snapshots} == snapshots
    assert ids(again, branch="audit") == ids(table, branch="audit")
    for other in (sibling, nested, inner):
        assert ids(ice.load_table(other.location())) == [1]
    assert removed(again, tmp_path) == set()


def test_the_files_in_use_of_a_large_table_are_not_held(
    tmp_path: Path, hashed_from_files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_history(tmp_path / "t")
    strays = put(tmp_path / "t", "data/stray.parquet", "stray")
    aged(tmp_path)
    held: list[int] = []

    def counted(paths: Any, equal: Equal) -> Any:
        held.append(len(paths))
        return candidates(paths, equal)

    monkeypatch.setattr(orphan_files, "candidates", counted)
    assert removed(table, tmp_path / "t") == strays
    assert (held == [len(strays)]) is (hashed_from_files == 0)


def test_a_checkpoint_at_the_tables_own_folder_leaves_the_tables_metadata_to_be_cleaned(
    tmp_path: Path,
) -> None:
    table = make(tmp_path / "t")
    table.append(rows(id=[1], k=["a"]))
    put(tmp_path / "t", "offsets/1", "commits/1")
    strays = put(tmp_path / "t", "data/stray.parquet")
    aged(tmp_path)
    assert removed(table, tmp_path / "t") == strays


def old_table(folder: Path, *strays: str) -> Table:
    table = make(folder)
    table.append(rows(id=[1], k=["a"]))
    put(folder, *strays)
    aged(folder)
    return table


def test_a_dry_run_lists_and_deletes_nothing(tmp_path: Path) -> None:
    table = old_table(tmp_path, "data/x.parquet")
    assert removed(table, tmp_path, dry_run=True) == {"data/x.parquet"}
    assert (tmp_path / "data/x.parquet").exists()


def test_files_of_the_last_three_days_stay_without_older_than(tmp_path: Path) -> None:
    table = old_table(tmp_path, "data/x.parquet")
    then = time.time() - 2 * 24 * 3600
    os.utime(tmp_path / "data/x.parquet", (then, then))
    assert removed(table, tmp_path) == set()
    day_ago = datetime.now(UTC) - timedelta(hours=25)
    assert removed(table, tmp_path, older_than=day_ago) == {"data/x.parquet"}


def test_less_than_a_day_is_refused_unless_the_caller_insists(tmp_path: Path) -> None:
    table = old_table(tmp_path)
    put(tmp_path, "data/new.parquet")
    now = int(time.time() * 1000) + 60_000
    with pytest.raises(InvalidInputError, match="allow_recent"):
        table.maintenance.remove_orphan_files(older_than=now)
    assert removed(table, tmp_path, older_than=now, allow_recent=True) == {"data/new.parquet"}


def test_a_file_that_is_committed_after_the_listing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = old_table(tmp_path, "data/x.parquet")
    compare, calls = orphan_files.unreferenced_files, []

    def with_a_commit(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            found = compare(*given)
            ice.load_table(str(tmp_path)).append(rows(id=[2], k=["b"]))
            aged(tmp_path)
            return found
        return compare(*given)

    late = orphan_files.candidates

    def listed_late(*given: Any) -> Any:
        ice.load_table(str(tmp_path)).append(rows(id=[3], k=["c"]))
        return late(*given)

    monkeypatch.setattr(orphan_files, "unreferenced_files", with_a_commit)
    monkeypatch.setattr(orphan_files, "candidates", listed_late)
    now = int(time.time() * 1000) + 60_000
    assert removed(table, tmp_path, older_than=now, allow_recent=True) == {"data/x.parquet"}
    assert ids(ice.load_table(str(tmp_path))) == [1, 2, 3]
    assert len(calls) > 1


@pytest.mark.parametrize("spelt", ["{}", "file:{}", "file://{}", "{}/", "file://localhost{}"])
def test_every_spelling_of_the_location_means_the_table(tmp_path: Path, spelt: str) -> None:
    table = old_table(tmp_path / "t", "data/x.parquet", "x.parquet")
    given = spelt.format(tmp_path / "t")
    result = table.maintenance.remove_orphan_files(location=given, dry_run=True)
    assert result.orphan_files_count == 2
    below = spelt.format(tmp_path / "t" / "data")
    assert table.maintenance.remove_orphan_files(location=below).orphan_files_count == 1


@pytest.mark.parametrize("where", ["", "other", "t_2", "t_2/data", "t/data/inner"])
def test_a_location_that_is_not_the_tables_is_refused(tmp_path: Path, where: str) -> None:
    table = old_table(tmp_path / "t")
    make_anywhere(tmp_path / "t_2").append(rows(id=[1], k=["a"]))
    make_anywhere(tmp_path / "t/data/inner").append(rows(id=[1], k=["a"]))
    put(tmp_path, "stray", "other/stray", "t_2/data/stray", "t/data/inner/stray")
    aged(tmp_path)
    before = files_below(tmp_path)
    with pytest.raises(InvalidInputError, match="not a folder of the table"):
        table.maintenance.remove_orphan_files(location=str(tmp_path / where))
    assert files_below(tmp_path) == before


def test_the_folder_of_write_data_path_is_the_tables(tmp_path: Path) -> None:
    far = tmp_path / "far"
    table = make(tmp_path / "t", **{"write.data.path": str(far)})
    table.append(rows(id=[1], k=["a"]))
    strays = put(far, "x.parquet")
    aged(tmp_path)
    assert removed(table, far, location=str(far)) == strays
    assert ids(table) == [1]


def test_links_are_never_deleted_and_lead_to_the_tables_files(tmp_path: Path) -> None:
    real = tmp_path / "real"
    table = old_table(real)
    shutil.move(real / "data", tmp_path / "disk")
    (real / "data").symlink_to(tmp_path / "disk")
    (real / "data2").symlink_to(tmp_path / "disk")
    (real / "one").symlink_to(real / "metadata" / "v1.metadata.json")
    (tmp_path / "link").symlink_to(real)
    aged(tmp_path)
    assert removed(table, real) == set()
    result = table.maintenance.remove_orphan_files(location=str(tmp_path / "link"))
    assert not result.orphan_file_locations
    assert ids(ice.load_table(str(real))) == [1]


def test_a_folder_that_another_format_shares_is_an_error(tmp_path: Path) -> None:
    table = old_table(tmp_path, "_delta_log/00.json", "part-0.parquet")
    with pytest.raises(ValidationException, match="_delta_log"):
        table.maintenance.remove_orphan_files()
    assert (tmp_path / "part-0.parquet").exists()


def test_tables_of_other_formats_below_stay(tmp_path: Path) -> None:
    table = old_table(
        tmp_path,
        "hudi/.hoodie/x",
        "hudi/a/part.parquet",
        "delta/_delta_log/0.json",
        "delta/part.parquet",
        "stray.parquet",
    )
    assert removed(table, tmp_path) == {"stray.parquet"}


def test_metadata_of_another_table_in_the_folder_is_an_error(tmp_path: Path) -> None:
    table = old_table(tmp_path / "t", "data/x.parquet")
    other = old_table(tmp_path / "other")
    shutil.copy(
        other.metadata_location.removeprefix("file:"),
        tmp_path / "t/metadata/00009-5d.metadata.json",
    )
    aged(tmp_path)
    with pytest.raises(ValidationException, match="00009-5d"):
        table.maintenance.remove_orphan_files()
    assert (tmp_path / "t/data/x.parquet").exists()


def test_metadata_of_a_later_format_in_the_folder_is_an_error(tmp_path: Path) -> None:
    table = old_table(tmp_path, "data/x.parquet")
    later = {"format-version": 4, "table-uuid": str(UUID(int=1)), "location": str(tmp_path)}
    (tmp_path / "metadata/00009-5d.metadata.json").write_text(json.dumps(later))
    aged(tmp_path)
    with pytest.raises(ValidationException, match=r"00009-5d.*format-version 4"):
        table.maintenance.remove_orphan_files()
    assert (tmp_path / "data/x.parquet").exists()


def test_metadata_of_a_refused_commit_is_an_orphan(tmp_path: Path) -> None:
    table = old_table(tmp_path)
    newest = Path(table.metadata_location.removeprefix("file:"))
    shutil.copy(newest, tmp_path / "metadata/00002-5d.metadata.json")
    aged(tmp_path)
    assert removed(table, tmp_path) == {"metadata/00002-5d.metadata.json"}


def test_a_copy_of_a_table_is_refused(tmp_path: Path) -> None:
    old_table(tmp_path / "t", "data/x.parquet")
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    aged(tmp_path)
    with pytest.raises(ValidationException, match="copy"):
        ice.load_table(str(tmp_path / "copy")).maintenance.remove_orphan_files()


def test_gc_disabled_is_refused(tmp_path: Path) -> None:
    table = make(tmp_path, **{"gc.enabled": "false"})
    with pytest.raises(ValidationException, match=r"gc\.enabled"):
        table.maintenance.remove_orphan_files()


def test_metadata_that_cannot_be_read_deletes_nothing(tmp_path: Path) -> None:
    table = old_table(tmp_path, "data/x.parquet")
    next((tmp_path / "metadata").glob("*-m0.avro")).unlink()
    with pytest.raises(NoSuchFileError):
        table.maintenance.remove_orphan_files()
    assert (tmp_path / "data/x.parquet").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prefix_mismatch_mode": "NONE"}, InvalidOptionError),
        ({"max_concurrent_deletes": 0}, InvalidInputError),
        ({"older_than": datetime(2020, 1, 1)}, InvalidInputError),  # noqa: DTZ001
    ],
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, given: dict[str, Any], said: type[Exception]
) -> None:
    with pytest.raises(said):
        old_table(tmp_path).maintenance.remove_orphan_files(**given)


SPELLINGS = [  # how metadata spells a file, how it is listed, and whether that may be one place
    ("s3://b/t/f", "s3a://b/t/f", "kept"),
    ("s3n://b/t/f", "s3://b/t/f", "kept"),
    ("s3://b/t//f", "s3://b/t/f", "kept"),
    ("s3://b/t/a%20b", "s3://b/t/a b", "kept"),
    ("s3://b/t/k=a%2Fb/f", "s3://b/t/k=a/b/f", "kept"),
    ("s3://b/t/f", "s3://c/t/f", "doubt"),
    ("s3://b/t/f", "gs://b/t/f", "doubt"),
    ("hdfs:///t/f", "hdfs://nn:8020/t/f", "kept"),
    ("hdfs://nn1/t/f", "hdfs://nn2/t/f", "doubt"),
    ("hdfs://NN1/t/f", "hdfs://nn1/t/f", "kept"),
    ("/t/f", "hdfs://nn/t/f", "doubt"),
    ("file:/t/f", "file:///t/f", "kept"),
    ("/t/x/../f", "file:/t/f", "kept"),
    ("abfss://c@a.dfs.core.windows.net/t/f", "abfs://c@a.dfs.core.windows.net/t/f", "kept"),
    ("s3://b/t/f", "s3://b/t/F", "orphan"),
    ("s3://b/t/f", "s3://b/t_2/f", "orphan"),
    ("s3://b/t/f/", "s3://b/t/f", "kept"),
    ("dbfs:/w/t/f", "/w/t/f", "doubt"),
    ("dbfs:/w/t/f", "/dbfs/w/t/f", "doubt"),
    ("foo:/w/t/f", "/w/t/f", "doubt"),
    ("foo:///w/t/f", "/w/t/f", "doubt"),
    ("foo://host/w/t/f", "/w/t/f", "doubt"),
    ("viewfs:/w/t/f", "/w/t/f", "doubt"),
    ("viewfs://c/user/t/f", "hdfs://nn/real/user/t/f", "doubt"),
    ("viewfs:///w/t/f", "viewfs://c/w/t/f", "kept"),
    ("foo:/w//t/f", "foo://h/w/t/f", "kept"),
    ("s3://b/t/f.", "s3://b/t/f", "kept"),
    ("abfs://c@a/t./f", "abfs://c@a/t/f", "kept"),
    ("dbfs:/w/t/f", "/w/t/g", "orphan"),
    ("dbfs:/w/t/f", "/w/u/f", "orphan"),
]


class _Names:
    """A table's storage that is never asked, since its metadata names no snapshot."""


def judged(
    named: str | list[str], listed: str, equal: Equal, mode: str, patch: pytest.MonkeyPatch
) -> str:
    names = [named] if isinstance(named, str) else named
    patch.setattr(named_files, "_named", lambda *_, **__: iter([pa.array(names, pa.string())]))
    found = candidates(pa.array([listed], pa.string()), equal)
    try:
        left = unreferenced_files(_Names(), found, equal, PrefixMismatch(mode))  # type: ignore[arg-type]
    except ValidationException:
        return "doubt"
    return "orphan" if left.num_rows else "kept"


@pytest.mark.parametrize(("named", "listed", "said"), SPELLINGS)
def test_spellings_of_one_place_keep_a_file_and_doubts_are_errors(
    named: str, listed: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Equal({}, {})
    assert judged(named, listed, plain, "ERROR", monkeypatch) == said
    ignored = "kept" if said == "doubt" else said
    assert judged(named, listed, plain, "IGNORE", monkeypatch) == ignored
    deleted = "orphan" if said == "doubt" else said
    assert judged(named, listed, plain, "DELETE", monkeypatch) == deleted


@pytest.mark.parametrize(
    ("named", "listed"),
    [
        (["abfs://c@a/t/F", "abfs://c@a/t/f."], "abfs://c@a/t/f"),
        (["hdfs://nn/t/F", "hdfs:///t/f"], "hdfs://nn/t/f"),
        (["hdfs://other/t/f", "hdfs:///t/f"], "hdfs://nn/t/f"),
    ],
)
def test_one_name_of_the_same_store_keeps_a_file_whatever_others_say(
    named: list[str], listed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for order in (named, named[::-1]):
        for mode in ("ERROR", "IGNORE", "DELETE"):
            assert judged(order, listed, Equal({}, {}), mode, monkeypatch) == "kept"


def test_equal_schemes_and_authorities_settle_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    equal = Equal.of({"gs,minio": "s3"}, {"c, d": "b"})
    assert judged("s3://b/t/f", "gs://c/t/f", equal, "ERROR", monkeypatch) == "kept"
    assert judged("minio://d/t/f", "s3://b/t/f", equal, "ERROR", monkeypatch) == "kept"
    assert judged("minio://e/t/f", "s3://b/t/f", equal, "ERROR", monkeypatch) == "doubt"
    mounted = Equal.of({"dbfs,foo,viewfs": "file"}, None)
    for named in ("dbfs:/w/t/f", "foo:/w/t/f", "foo:///w/t/f", "viewfs:///w/t/f"):
        assert judged(named, "/w/t/f", mounted, "ERROR", monkeypatch) == "kept"
    assert judged("dbfs:/w/t/f", "/dbfs/w/t/f", mounted, "ERROR", monkeypatch) == "kept"
    hadoop = Equal.of({"file": "hdfs"}, None)
    assert judged("/w/t/f", "hdfs://nn/w/t/f", hadoop, "ERROR", monkeypatch) == "kept"


def test_a_case_insensitive_file_system_has_one_file_for_both_spellings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hard link behaves here as such a file system does: two names, one file."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "F").touch()
    named, listed = f"{tmp_path}/t/f", f"{tmp_path}/t/F"
    plain = Equal({}, {})
    assert judged(named, listed, plain, "ERROR", monkeypatch) == "orphan"
    os.link(listed, named)
    assert judged(named, listed, plain, "DELETE", monkeypatch) == "kept"


@pytest.mark.parametrize(("named", "listed", "said"), SPELLINGS)
def test_only_a_file_in_use_is_left_out_of_the_listing_of_a_large_table(
    named: str, listed: str, said: str
) -> None:
    in_use = NamedFiles.of([pa.array([named])], FileKeys(Equal({}, {})))
    assert said == "kept" or in_use.has(pa.array([listed])).to_pylist() == [False]
    assert in_use.has(pa.array([named, f"{named}2"])).to_pylist() == [True, False]


def test_the_store_and_the_place_of_a_location_are_told_apart() -> None:
    table = FileKeys(Equal({}, {})).table(pa.array(["s3a://B/x%20y//z", "file:///no/such/f"]))
    assert table.column("store").to_pylist() == ["s3://b", "file:"]
    assert table.column("place").to_pylist() == ["/x y/z", "/no/such/f"]


def test_a_file_that_the_store_does_not_delete_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = old_table(tmp_path, "data/x.parquet", "data/y.parquet")
    delete = FsspecIO.delete

    def broken(self: FsspecIO, path: str) -> None:
        if path.endswith("x.parquet"):
            raise StorageError("no")
        delete(self, path)

    monkeypatch.setattr(FsspecIO, "delete", broken)
    result = table.maintenance.remove_orphan_files()
    assert [Path(one).name for one in result.not_deleted] == ["x.parquet"]
    assert repr(result) == "deleted 1 orphan files; 1 could not be deleted"


def test_a_catalog_that_does_not_say_where_the_metadata_is_deletes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = old_table(tmp_path, "data/x.parquet")
    before = files_below(tmp_path)
    load = FileSystemCatalog.load

    def without_place(self: FileSystemCatalog, identifier: str) -> Any:
        return replace(load(self, identifier), metadata_location="")

    monkeypatch.setattr(FileSystemCatalog, "load", without_place)
    with pytest.raises(ValidationException, match="current one"):
        table.maintenance.remove_orphan_files()
    assert files_below(tmp_path) == before
