"""Faults put into metadata are noticed: what breaks the specification is named."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.maintenance.check_table import check_table
from iceberg_spark.manifest.entries import manifest_entries
from iceberg_spark.manifest.manifest_list import read_manifest_list, write_manifest_list
from iceberg_spark.manifest.reader import MANIFEST_CACHE, read_manifest
from iceberg_spark.manifest.writer import write_manifest
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.spec.data_file import DataFileContent, FileFormat, ManifestEntry
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.types import StructType
from tests.unit.api.tables import make, rows


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two appends of 2 rows, and an upsert: three snapshots, one equality delete."""
    made = make(tmp_path / "t", format_version="3")
    made.append(rows(id=[1, 2], k=["a", "b"]))
    made.append(rows(id=[3, 4], k=["a", "b"]))
    made.upsert(rows(id=[1], k=["c"]), keys=["id"])
    return made.refresh()


def problems(table: Table, metadata: TableMetadata | None = None) -> list[str]:
    MANIFEST_CACHE.clear()
    return [str(each) for each in check_table(metadata or table.metadata, table.io).problems]


def head(metadata: TableMetadata) -> Any:
    snapshot = metadata.current_snapshot
    assert snapshot is not None
    return snapshot


def with_head(metadata: TableMetadata, **changes: Any) -> TableMetadata:
    changed = replace(head(metadata), **changes)
    return replace(metadata, snapshots={**metadata.snapshots, changed.snapshot_id: changed})


def test_a_file_that_is_listed_again_has_new_rows(table: Table) -> None:
    file = data_file(table.scan("id = 3").plan_files()[0])
    with table.transaction() as tx:
        tx.overwrite_files(add=[file], delete=[file])
    assert problems(table.refresh()) == []


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_what_we_write_is_sound(version: str) -> None:
    table = make(partition_by=["k"], format_version=version)
    table.append(rows(id=[1, 2, 3], k=["a", "b", "a"]))
    table.append(rows(id=[4], k=["b"]))
    if version != "1":
        table.delete("id = 1")
        table.upsert(rows(id=[2], k=["b"]), keys=["id", "k"])
    table.overwrite(rows(id=[5], k=["a"]), "k = 'a'")
    for newer in ("2", "3"):
        if newer > version:
            table.update_properties().set({"format-version": newer}).commit()
            table.append(rows(id=[6], k=["b"]))
    table.manage_snapshots().create_branch(table.metadata.current_snapshot_id, "b").commit()
    table.append(rows(id=[7], k=["a"]), branch="b")
    found = table.maintenance.check()
    assert found.is_sound, str(found)
    assert found.snapshots == len(table.refresh().snapshots())
    assert "nothing breaks the specification" in str(found)


METADATA_FAULTS: dict[str, tuple[Callable[[TableMetadata], TableMetadata], str]] = {
    "next-row-id": (lambda m: replace(m, next_row_id=4), r"next-row-id is 4.*up to 4"),
    "added-rows too low": (lambda m: with_head(m, added_rows=0), "added-rows is 0.*too low"),
    "added-rows of two": (lambda m: with_head(m, first_row_id=1), "have the same row ids"),
    "first-row-id gone": (
        lambda m: with_head(m, first_row_id=None, added_rows=None), "has no first-row-id",
    ),
    "half": (lambda m: with_head(m, added_rows=None), "without the other"),
    "negative": (lambda m: with_head(m, added_rows=-1), "below zero"),
    "sequence of parent": (lambda m: with_head(m, sequence_number=2), "not above its parent's 2"),
    "sequence of table": (lambda m: replace(m, last_sequence_number=2), "above the table's 2"),
    "schema": (lambda m: with_head(m, schema_id=9), "schema 9 is not there"),
    "reference": (
        lambda m: replace(m, refs={**m.refs, "b": replace(m.refs["main"], snapshot_id=5)}),
        "'b' points to snapshot 5",
    ),
    "statistics": (lambda m: replace(m, statistics=({"snapshot-id": 5},)), "statistics.*5"),
    "last column": (lambda m: replace(m, last_column_id=1), "last-column-id is 1.*field 2"),
    "list gone": (lambda m: with_head(m, manifest_list="/nowhere.avro"), "can't be read.*nowhere"),
}  # fmt: skip


@pytest.mark.parametrize("name", METADATA_FAULTS)
def test_a_fault_of_metadata_is_named(table: Table, name: str) -> None:
    fault, told = METADATA_FAULTS[name]
    assert problems(table) == []
    found = problems(table, fault(table.metadata))
    assert any(re.search(told, text) for text in found), found


def with_list(table: Table, change: Callable[[ManifestFile], ManifestFile | None]) -> TableMetadata:
    """The metadata with another manifest list for its head."""
    snapshot = head(table.metadata)
    listed = [change(one) for one in read_manifest_list(table.io, snapshot, table.metadata)]
    path = f"{table.location()}/metadata/other.avro"
    kept = [one for one in listed if one is not None]
    write_manifest_list(table.io, path, snapshot, kept, format_version=3)
    return with_head(table.metadata, manifest_list=path)


ListChange = Callable[[ManifestFile], ManifestFile]


def of_data(change: ListChange) -> ListChange:
    return lambda one: change(one) if one.content is ManifestContent.DATA else one


LIST_FAULTS: dict[str, tuple[Callable[[ManifestFile], ManifestFile], str]] = {
    "no row id": (of_data(lambda m: replace(m, first_row_id=None)), "has no first_row_id"),
    "same row ids": (of_data(lambda m: replace(m, first_row_id=0)), "have the same row ids"),
    "row ids beyond": (
        of_data(lambda m: replace(m, first_row_id=(m.first_row_id or 0) + 100)), "row ids up to 10",
    ),
    "moved row ids": (
        of_data(lambda m: replace(m, first_row_id=1) if m.first_row_id == 0 else m),
        "first_row_id of .* is 1, and was 0",
    ),
    "deletes": (
        lambda m: replace(m, first_row_id=7) if m.content else m, "holds deletes and has a first",
    ),
    "sequence": (of_data(lambda m: replace(m, sequence_number=9)), "9, above the snapshot's 3"),
    "least": (of_data(lambda m: replace(m, min_sequence_number=9)), "min_sequence_number 9"),
    "count": (of_data(lambda m: replace(m, added_rows_count=7)), "counts 7 added rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIST_FAULTS)
def test_a_fault_of_a_manifest_list_is_named(table: Table, name: str) -> None:
    fault, told = LIST_FAULTS[name]
    found = problems(table, with_list(table, fault))
    assert any(re.search(told, text) for text in found), found


def with_entries(
    table: Table,
    content: ManifestContent,
    change: Callable[[ManifestEntry], list[ManifestEntry]],
) -> TableMetadata:
    """The metadata with other entries in the newest manifest of a content."""
    base, done = table.metadata, []

    def changed(manifest: ManifestFile) -> ManifestFile:
        if manifest.content is not content or done:
            return manifest
        bare = replace(manifest, first_row_id=None)
        found = read_manifest(table.io, bare, StructType())
        entries = [new for one in manifest_entries(found, 0, StructType()) for new in change(one)]
        done.append(
            write_manifest(
                table.io,
                f"{table.location()}/metadata/other-m0.avro",
                format_version=3,
                spec=base.spec,
                schema=base.schema,
                content=content,
                snapshot_id=manifest.added_snapshot_id,
                entries=entries,
            )
        )
        return replace(
            done[0],
            sequence_number=manifest.sequence_number,
            min_sequence_number=1,
            first_row_id=manifest.first_row_id,
        )

    return with_list(table, changed)


def vector(entry: ManifestEntry, about: str | None, **rest: Any) -> ManifestEntry:
    file = replace(
        entry.data_file,
        content=DataFileContent.POSITION_DELETES,
        file_path="/dv.puffin",
        file_format=FileFormat.PUFFIN,
        referenced_data_file=about,
        equality_ids=None,
        **{"content_offset": 4, "content_size_in_bytes": 40, **rest},
    )
    return replace(entry, data_file=file)


def a_file(table: Table) -> str:
    return table.scan("id = 3").plan_files()[0].file_path


ENTRY_FAULTS: dict[str, tuple[ManifestContent, Callable[..., list[ManifestEntry]], str]] = {
    "twice": (ManifestContent.DATA, lambda e, _: [e, e], "is listed 2 times"),
    "two vectors": (
        ManifestContent.DELETES, lambda e, p: [vector(e, p), vector(e, p)], "has 2 deletion vectors"
    ),
    "a vector for nothing": (
        ManifestContent.DELETES, lambda e, _: [vector(e, "/x")], "/x, which is not in the snapshot"
    ),
    "a vector of nothing": (
        ManifestContent.DELETES, lambda e, _: [vector(e, None)], "has no referenced_data_file"
    ),
    "no offset": (
        ManifestContent.DELETES,
        lambda e, p: [vector(e, p, content_offset=None)],
        "has no content_offset",
    ),
    "a vector of more rows than the file has": (
        ManifestContent.DELETES,
        lambda e, p: [vector(e, p, record_count=3)],
        "deletes 3 of its 2 rows",
    ),
    "a vector of less than no row": (
        ManifestContent.DELETES,
        lambda e, p: [vector(e, p, record_count=-1)],
        "deletes -1 of its 2 rows",
    ),
    "old vector": (
        ManifestContent.DELETES,
        lambda e, p: [replace(vector(e, p), data_sequence_number=1)],
        "smaller data sequence number",
    ),
    "a position delete file": (
        ManifestContent.DELETES,
        lambda e, p: [
            replace(e, data_file=replace(vector(e, p).data_file, file_format=FileFormat.PARQUET))
        ],
        "was added: from version 3 on",
    ),
    "no key columns": (
        ManifestContent.DELETES,
        lambda e, _: [replace(e, data_file=replace(e.data_file, equality_ids=None))],
        "no equality_ids",
    ),
    "row id of deletes": (
        ManifestContent.DELETES,
        lambda e, _: [replace(e, data_file=replace(e.data_file, first_row_id=5))],
        "delete files in it have a first_row_id",
    ),
    "data as deletes": (
        ManifestContent.DELETES,
        lambda e, _: [replace(e, data_file=replace(e.data_file, content=DataFileContent.DATA))],
        "delete manifest and has data files",
    ),
    "number of the future": (
        ManifestContent.DATA, lambda e, _: [replace(e, data_sequence_number=8)], "number 8, above"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENTRY_FAULTS)
def test_a_fault_of_entries_is_named(table: Table, name: str) -> None:
    content, fault, told = ENTRY_FAULTS[name]
    path = a_file(table)
    found = problems(table, with_entries(table, content, lambda entry: fault(entry, path)))
    assert any(re.search(told, text) for text in found), found


def test_a_table_whose_metadata_can_not_be_read_is_one_problem(table: Table) -> None:
    place = Path(table.metadata_location)
    node = json.loads(place.read_text(encoding="utf-8"))
    node["refs"]["gone"] = {"snapshot-id": 5, "type": "branch"}
    place.write_text(json.dumps(node), encoding="utf-8")
    found = table.maintenance.check()
    assert not found.is_sound
    assert "'gone' points to snapshot 5" in str(found)
    with pytest.raises(ice.errors.CorruptFileError):
        ice.load_table(table.location())
