"""Nothing that is used is deleted however it is spelt, and nothing that isn't the table's own."""

import contextlib
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.commit import commit
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.spec.updates import SetLocation, SetStatistics, TableUpdate
from tests.unit.api.tables import ids, make, make_anywhere, rows

LATER = 1 << 60  # ms: everything is older
K = "k"


def parquet(path: Path, number: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": [number], K: ["a"]}), path)
    return path


def expire(table: Table, **rest: Any) -> Any:
    return table.maintenance.expire_snapshots(LATER, **rest)


def run(table: Table, *updates: TableUpdate) -> None:
    class Raw:
        def validate(self, base: Any, io: Any) -> None: ...
        def clean_up(self, io: Any, committed: Any) -> None: ...
        def prepare(self, base: Any, io: Any) -> ActionCommit:  # noqa: ARG002
            return ActionCommit(updates)

    commit(table._catalog, table.identifier, Raw(), table._loaded)
    table.refresh()


def forgets_statistics(table: Table, path: str) -> Any:
    """Expire a snapshot whose statistics lie at a path."""
    table.append(rows(id=[1], k=["a"]))
    first = table.current_snapshot().snapshot_id
    run(table, SetStatistics({
        "snapshot-id": first, "statistics-path": path, "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1, "blob-metadata": [],
    }))  # fmt: skip
    table.append(rows(id=[2], k=["b"]))
    return expire(table)


SPELLINGS: dict[str, Callable[[Path], str]] = {
    "two slashes": lambda p: f"{p.parent}//{p.name}",
    "a dot": lambda p: f"{p.parent}/./{p.name}",
    "dots": lambda p: f"{p.parent}/none/../{p.name}",
    "file:": lambda p: f"file:{p}",
    "file://": lambda p: f"file://{p}",
    "four slashes": lambda p: f"file:////{str(p)[1:]}",
    "another case of the scheme": lambda p: f"FILE:{p}",
    "a host": lambda p: f"file://localhost{p}",
    "a linked folder": lambda p: str(p.parent.with_name("linked") / p.name),
    "a linked file": lambda p: str(p.with_name("linked.parquet")),
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("case", SPELLINGS)
def test_a_file_that_was_added_again_by_another_spelling_stays(
    tmp_path: Path, case: str, first: bool
) -> None:
    table = make(tmp_path / "t")
    path = parquet(tmp_path / "t" / "data" / "in" / "x.parquet")
    path.parent.with_name("linked").symlink_to(path.parent)
    path.with_name("linked.parquet").symlink_to(path)
    spelt = [SPELLINGS[case](path), str(path)]
    before, after = spelt if first else reversed(spelt)
    table.add_files([before])
    table.overwrite(rows(id=[2], k=["b"]))
    table.add_files([after])
    expire(table, delete_outside=True)
    assert path.exists()
    assert ids(table) == [1, 2]


FOREIGN: dict[str, Callable[[Path], str]] = {
    "dbfs": lambda p: f"dbfs:{p}",
    "dbfs, three slashes": lambda p: f"dbfs://{p}",
    "a scheme that no library opens": lambda p: f"foo:{p}",
    "a host that no library knows": lambda p: f"foo://host{p}",
    "viewfs": lambda p: f"viewfs:{p}",
    "viewfs with a cluster": lambda p: f"viewfs://cluster{p}",
    "hdfs": lambda p: f"hdfs://nn:8020/{p}",
    "a dot at the end": lambda p: f"dbfs:{p}.",
    "a folder with a dot at its end": lambda p: f"foo:{p.parent}./{p.name}",
    "upper case": lambda p: f"dbfs:{p.parent}/{p.name.upper()}",
    "two slashes": lambda p: f"dbfs:{p.parent}//{p.name}",
}


@pytest.mark.parametrize("case", FOREIGN)
def test_a_file_that_a_retained_snapshot_names_under_another_scheme_stays(
    tmp_path: Path, case: str
) -> None:
    """The retained name can't be opened here, so no reader proves that it is the same file."""
    table = make(tmp_path / "t")
    path = parquet(tmp_path / "t" / "data" / "x.parquet")
    unused = parquet(tmp_path / "t" / "data" / "y.parquet")
    table.add_files([str(path), str(unused)])
    files = map(data_file, table.scan().plan_files())
    added = {Path(file.file_path).name: file for file in files}
    foreign = replace(added["x.parquet"], file_path=FOREIGN[case](path))
    with table.transaction() as tx:
        tx.overwrite_files(add=[foreign], delete=list(added.values()))
    expire(table)
    assert (path.exists(), unused.exists()) == (True, False)
    with pytest.raises(ValidationException, match="another scheme or authority"):
        table.maintenance.remove_orphan_files(older_than=LATER, allow_recent=True)
    ignored = table.maintenance.remove_orphan_files(
        older_than=LATER, allow_recent=True, prefix_mismatch_mode="IGNORE"
    )
    assert ignored.orphan_files_count == 0
    assert path.exists()


def test_names_that_only_look_encoded_are_two_files(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    plain = parquet(tmp_path / "t" / "data" / "a b.parquet", 1)
    encoded = parquet(tmp_path / "t" / "data" / "a%20b.parquet", 2)
    table.add_files([str(plain), str(encoded)])
    table.delete("id = 2")
    expire(table)
    assert (plain.exists(), encoded.exists()) == (True, False)
    assert ids(table) == [1]


@pytest.mark.parametrize("seed", range(6))
def test_random_spellings_of_random_files_delete_what_is_used_by_none(
    tmp_path: Path, seed: int
) -> None:
    """Brute force: a file is used where the real path of a live spelling is its own."""
    rnd = random.Random(seed)
    data = tmp_path / "t" / "data"
    folders = [data, data / "a", data / "a" / "b", data / "x=%2F"]
    files = [parquet(rnd.choice(folders) / f"f{n}.parquet", n) for n in range(12)]
    (data / "link").symlink_to(data / "a")
    table = make(tmp_path / "t")
    table.add_files([_spelt(rnd, each) for each in files])
    table.overwrite(rows(id=[99], k=["b"]))
    again = [_spelt(rnd, each) for each in files if rnd.random() < 0.5]
    if again:
        table.add_files(again)
    used = {os.path.realpath(each.partition(":")[2] or each) for each in again}
    result = expire(table)
    assert result.not_deleted == ()
    assert {str(each) for each in files if each.exists()} == used
    assert len(ids(table)) == len(used) + 1


def _spelt(rnd: random.Random, path: Path) -> str:
    parts = str(path).split("/")[1:]
    if "a" in parts and rnd.random() < 0.4:
        parts[parts.index("a")] = "link"
    scheme, text = rnd.choice(["", "file:", "FILE:"]), ""
    for at, part in enumerate(parts):
        text += rnd.choice(["/", "/", "//", "/./"] if at else ["/", "///"])
        if at and rnd.random() < 0.2:
            text += f"z{rnd.random()}/../"
        text += part
    return scheme + text


OUTSIDE: dict[str, Callable[[Path], str]] = {
    "elsewhere": lambda at: f"{at}/other/x.bin",
    "out by dots": lambda at: f"{at}/t/data/../../other/x.bin",
    "a folder whose name begins alike": lambda at: f"{at}/t2/x.bin",
    "out by a link": lambda at: f"{at}/t/data/away/x.bin",
    "in a table in between": lambda at: f"{at}/t/data/inner/data/x.bin",
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_what_is_not_the_tables_own_is_named_and_stays(tmp_path: Path, case: str) -> None:
    table = make(tmp_path / "t")
    (tmp_path / "other").mkdir()
    (tmp_path / "t" / "data").mkdir()
    (tmp_path / "t" / "data" / "away").symlink_to(tmp_path / "other")
    make_anywhere(tmp_path / "t" / "data" / "inner")
    path = OUTSIDE[case](tmp_path)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(b"1")
    result = forgets_statistics(table, path)
    assert Path(path).exists()
    assert result.not_deleted == result.outside == (path,)
    assert result.deleted_statistics_files_count == 0
    assert "1 outside the table's folders were left" in repr(result)


def test_files_outside_go_when_that_is_asked(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    path = parquet(tmp_path / "other" / "x.parquet")
    table.add_files([str(path)])
    table.overwrite(rows(id=[2], k=["b"]))
    dry = expire(table, dry_run=True)
    assert dry.not_deleted == (str(path),)
    assert str(path) not in dry.files["file_path"].to_pylist()
    result = expire(table, delete_outside=True)
    assert result.not_deleted == ()
    assert not path.exists()


def test_a_file_of_another_table_that_was_added_stays(tmp_path: Path) -> None:
    owner = make(tmp_path / "owner")
    owner.append(rows(id=[1], k=["a"]))
    path = next(iter((tmp_path / "owner" / "data").rglob("*.parquet")))
    for place in ("beside", "."):  # a table beside it, and one that it lies in
        table = make(tmp_path / place)
        table.add_files([str(path)])
        table.overwrite(rows(id=[2], k=["b"]))
        assert expire(table).not_deleted == (str(path),)
    assert ids(owner) == [1]


def test_a_copy_of_a_table_deletes_no_file_of_the_first(tmp_path: Path) -> None:
    first = make(tmp_path / "first")
    first.append(rows(id=[1], k=["a"]))
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    second = ice.load_table(str(tmp_path / "second"))
    assert second.location() == first.location()
    run(second)
    second.overwrite(rows(id=[2], k=["b"]))
    expire(second)
    assert ids(first) == [1]


@pytest.mark.parametrize(
    "key", ["write.data.path", "write.object-storage.path", "write.folder-storage.path"]
)
def test_a_folder_that_a_property_names_is_deleted_from_only_when_that_is_asked(
    tmp_path: Path, key: str
) -> None:
    table = make(tmp_path / "t")
    path = parquet(tmp_path / "elsewhere" / "x.parquet")
    table.add_files([str(path)])
    table.overwrite(rows(id=[2], k=["b"]))
    table.update_properties().set({key: str(tmp_path / "elsewhere")}).commit()
    dry = expire(table, dry_run=True)
    assert dry.outside == (str(path),)
    assert expire(table, delete_outside=True).not_deleted == ()
    assert not path.exists()


def test_a_folder_below_the_location_that_a_property_names_is_the_tables_own(
    tmp_path: Path,
) -> None:
    table = make(tmp_path / "t", **{"write.data.path": str(tmp_path / "t" / "files")})
    table.append(rows(id=[1], k=["a"]))
    [path] = (tmp_path / "t" / "files").rglob("*.parquet")
    table.overwrite(rows(id=[2], k=["b"]))
    assert expire(table).not_deleted == ()
    assert not path.exists()


def test_a_former_location_is_deleted_from_only_when_that_is_asked(tmp_path: Path) -> None:
    catalog = ice.load_catalog(tmp_path.name, type="memory", warehouse=str(tmp_path / "old"))
    table = catalog.create_table("db.t", "id bigint, k string")
    table.append(rows(id=[1], k=["a"]))
    run(table, SetLocation(str(tmp_path / "new")))
    table.overwrite(rows(id=[2], k=["b"]))
    old = list((tmp_path / "old").rglob("*.parquet"))
    assert len(old) == 1
    dry = expire(table, dry_run=True)
    assert str(old[0]) in dry.outside
    result = expire(table, delete_outside=True)
    assert not old[0].exists(), result


@pytest.mark.parametrize("key", ["location", "write.data.path", "write.metadata.path"])
def test_metadata_in_a_catalogs_folder_makes_no_other_folder_its_own(
    tmp_path: Path, key: str
) -> None:
    """Whoever may write the metadata file could have any file of the user's deleted."""
    catalog = ice.load_catalog(tmp_path.name, type="memory", warehouse=str(tmp_path / "wh"))
    table = catalog.create_table("db.t", "id bigint, k string")
    victim = parquet(tmp_path / "victim" / "data" / "x.parquet")
    table.add_files([str(victim)])
    newest = Path(table.metadata_location)
    content = json.loads(newest.read_text())
    if key == "location":
        content[key] = str(tmp_path / "victim")
    else:
        content["properties"][key] = str(tmp_path / "victim" / "data")
    newest.write_text(json.dumps(content))
    with contextlib.suppress(ValidationException, InvalidInputError):
        catalog.load_table("db.t").maintenance.remove_orphan_files(
            older_than=LATER, allow_recent=True
        )
    table = catalog.load_table("db.t")
    table.overwrite(rows(id=[2], k=["b"]))
    result = expire(table)
    assert str(victim) in result.outside
    catalog.purge_table("db.t")
    assert victim.exists()


def test_a_table_keeps_its_location_where_its_metadata_is_elsewhere(tmp_path: Path) -> None:
    """The catalog's own choice for the name proves the location then."""
    catalog = ice.load_catalog(tmp_path.name, type="memory", warehouse=str(tmp_path / "wh"))
    far = {"write.metadata.path": str(tmp_path / "far" / "metadata")}
    table = catalog.create_table("db.t", "id bigint, k string", properties=far)
    table.append(rows(id=[1], k=["a"]))
    table.overwrite(rows(id=[2], k=["b"]))
    assert expire(table).not_deleted == ()
    assert ids(table) == [2]


def test_metadata_that_a_log_of_another_table_names_owns_nothing(tmp_path: Path) -> None:
    other = make(tmp_path / "other")
    other.append(rows(id=[1], k=["a"]))
    table = make(tmp_path / "t")
    log = [entry.metadata_file for entry in other.metadata.metadata_log]
    newest = max((tmp_path / "t" / "metadata").glob("v*.json"))
    newest.write_text(
        newest.read_text().replace(
            '"metadata-log":[', f'"metadata-log":[{{"metadata-file":"{log[0]}","timestamp-ms":1}}'
        )
    )
    path = next(iter((tmp_path / "other" / "data").rglob("*.parquet")))
    table = ice.load_table(str(tmp_path / "t"))
    assert forgets_statistics(table, str(path)).not_deleted == (str(path),)
    assert ids(other) == [1]


@pytest.mark.parametrize("kind", ["data", "manifest", "list", "metadata", "hint"])
def test_what_the_table_uses_as_another_kind_of_file_stays(tmp_path: Path, kind: str) -> None:
    table = make(tmp_path / "t")
    table.append(rows(id=[7], k=["a"]))
    snapshot = table.current_snapshot()
    path = {
        "data": str(next(iter((tmp_path / "t" / "data").rglob("*.parquet")))),
        "manifest": str(next(iter((tmp_path / "t" / "metadata").glob("*-m0.avro")))),
        "list": snapshot.manifest_list,
        "metadata": str(tmp_path / "t" / "metadata" / "v1.metadata.json"),
        "hint": str(tmp_path / "t" / "metadata" / "version-hint.text"),
    }[kind]
    table.manage_snapshots().create_tag(snapshot.snapshot_id, "kept").commit()
    result = forgets_statistics(table, path.replace("/t/", "/./t//"))
    assert Path(path).exists()
    assert result.not_deleted == ()
    assert ids(table) == [1, 2, 7]
