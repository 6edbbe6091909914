"""Tables of format version 3 changed merge-on-read: deletion vectors in, and older deletes out."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.new_manifests import data_files_of, read_entries
from iceberg_spark.commits.rewrite_files import RewriteFiles
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.formats.puffin.read_puffin import read_footer
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.spec.data_file import DataFile, FileFormat
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.sorted_files import write_sorted_files
from tests.unit.api.tables import data_files, ids, make, rows

VERSION_3 = {"format-version": "3"}
MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
PARTS = ("a", "b", "c")


def filled(*, partition_by: tuple[str, ...] = ("k",), files: int = 2, **given: str) -> Table:
    """Files of ten ids for each letter, twice, of version 3 unless another is given."""
    table = make(partition_by=partition_by, **(VERSION_3 | MERGE_ON_READ | given))
    for turn in range(files):
        start = 30 * turn
        letters = [PARTS[n % 3] for n in range(start, start + 30)]
        table.append(rows(id=list(range(start, start + 30)), k=letters))
    return table


def again(table: Table) -> Table:
    return ice.load_table(table.location())


def deletes(table: Table) -> list[DataFile]:
    """The live delete files and vectors of the current snapshot."""
    base, found = table.metadata, []
    for manifest in read_manifest_list(table.io, table.current_snapshot(), base):
        if manifest.content is ManifestContent.DELETES:
            entries = read_entries(table.io, base, manifest)
            is_live = [status != 2 for status in entries.column("status").to_pylist()]
            found += data_files_of(base, manifest, entries.filter(is_live))
    return found


def summary(table: Table) -> dict[str, str]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return dict(snapshot.summary)


def upgrade(table: Table) -> None:
    table.update_properties().set(VERSION_3).commit()


def test_a_delete_writes_one_puffin_file_of_vectors():
    table = filled()
    assert table.delete("id in (0, 10, 20, 30, 40, 50)").deleted == 6
    vectors = deletes(table)
    assert len(vectors) == 6
    assert {file.file_format for file in vectors} == {FileFormat.PUFFIN}
    (path,) = {file.file_path for file in vectors}
    footer = read_footer(table.io, path)
    targets = {task.file_path: task.partition for task in table.scan().plan_files()}
    for file, blob in zip(vectors, footer.blobs, strict=True):
        assert (file.content_offset, file.content_size_in_bytes) == (blob.offset, blob.length)
        assert (file.record_count, file.file_size_in_bytes) == (1, footer.size)
        assert file.partition == targets[str(file.referenced_data_file)]
        assert blob.properties == {
            "referenced-data-file": file.referenced_data_file, "cardinality": "1",
        }  # fmt: skip
        assert (blob.snapshot_id, blob.sequence_number, blob.compression_codec) == (-1, -1, None)
        assert file.lower_bounds is None
    said = summary(table)
    assert said["operation"] == "delete"
    assert (said["added-dvs"], said["added-delete-files"]) == ("6", "6")
    assert said["added-files-size"] == str(sum(blob.length for blob in footer.blobs))
    assert "added-position-delete-files" not in said
    assert table.scan().count() == 54


def test_a_second_delete_takes_the_first_one_s_rows_in_and_replaces_its_vectors():
    table = filled()
    table.delete("id in (0, 1, 2, 30, 31, 32)")
    old = {file.key for file in deletes(table)}
    table.delete("id in (3, 4, 5, 33, 34, 35)")
    assert (summary(table)["added-dvs"], summary(table)["removed-dvs"]) == ("6", "6")
    assert {file.record_count for file in deletes(table)} == {2}
    assert not old & {file.key for file in deletes(table)}
    assert ids(table) == [n for n in range(60) if n % 30 > 5]


def test_other_vectors_of_a_puffin_file_stay_when_one_is_replaced():
    table = filled()
    table.delete("id in (0, 1, 2)")
    first = {file.referenced_data_file: file.key for file in deletes(table)}
    table.delete("id = 3")
    now = {file.referenced_data_file: file.key for file in deletes(table)}
    assert len(now) == 3
    assert sum(first[path] == key for path, key in now.items()) == 2
    assert ids(table) == list(range(4, 60))


@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_a_vector_takes_in_the_position_deletes_of_an_upgraded_table(granularity: str):
    table = filled(**{"format-version": "2", "write.delete.granularity": granularity})
    table.delete("id in (0, 3, 30)")
    upgrade(table)
    table.delete("id = 6")
    by_format = {kind: [f for f in deletes(table) if f.file_format is kind] for kind in FileFormat}
    (vector,) = by_format[FileFormat.PUFFIN]
    assert vector.record_count == 3
    left = by_format[FileFormat.PARQUET]
    assert [file.record_count for file in left] == ([1] if granularity == "file" else [3])
    assert ids(table) == [n for n in range(60) if n not in {0, 3, 6, 30}]


def test_no_position_delete_file_can_be_added_to_version_3_and_no_vector_to_version_2():
    table, old = filled(), filled(**{"format-version": "2"})
    for one in (table, old):
        one.delete("id = 1")
    (vector,), (positions,) = deletes(table), deletes(old)
    for one, file, text in ((table, positions, "deletion vectors"), (old, vector, "need 3")):
        with pytest.raises(UnsupportedError, match=text):
            commit(one._catalog, one.identifier, RowDelta(deletes=[file]), one._loaded)


def test_two_vectors_of_a_data_file_are_refused():
    table = filled()
    table.delete("id = 1")
    (vector,) = deletes(table)
    other = DataFile(**{name: getattr(vector, name) for name in vector.__slots__} | {
        "content_offset": 99
    })  # fmt: skip
    with pytest.raises(InvalidInputError, match="two deletion vectors"):
        commit(table._catalog, table.identifier, RowDelta(deletes=[vector, other]), table._loaded)


Verb = Callable[[Table], Any]
REMOVALS: dict[str, Verb] = {
    "a filter": lambda t: t.delete("k = 'a'"),
    "an overwrite": lambda t: t.overwrite(rows(id=[7], k=["a"]), "k = 'a'"),
    "partitions": lambda t: t.dynamic_partition_overwrite(rows(id=[7], k=["a"])),
}


@pytest.mark.parametrize("verb", REMOVALS.values(), ids=REMOVALS)
def test_a_data_file_that_goes_takes_its_vector_along(verb: Verb):
    table = filled()
    table.delete("id in (0, 1, 30)")
    verb(table)
    assert {file.partition for file in deletes(table)} == {("b",)}
    assert summary(table)["removed-dvs"] == "2"


def test_copy_on_write_takes_the_vectors_of_the_files_that_it_rewrites_along():
    table = filled()
    table.delete("id in (0, 1, 30)")
    table.update_properties().set({"write.delete.mode": "copy-on-write"}).commit()
    table.delete("id = 3")
    assert sorted(file.partition[0] for file in deletes(table)) == ["a", "b"]
    assert ids(table) == [n for n in range(60) if n not in {0, 1, 3, 30}]


def test_a_whole_file_goes_with_its_vector_and_counts_the_rows_that_were_left():
    table = filled(partition_by=())
    table.delete("id in (0, 1, 30)")
    assert table.delete("id < 30").deleted == 28
    assert len(deletes(table)) == 1


# -------------------------------------------------------------------------------- conflicts


@pytest.mark.parametrize("level", ["serializable", "snapshot"])
@pytest.mark.parametrize("before", ["false", "id = 6"])
def test_two_deletes_from_the_same_file_both_land(level: str, before: str):
    table = filled(**{"write.delete.isolation-level": level})
    table.delete(before)
    late, there = again(table), data_files(table)
    with late.transaction() as tx:
        tx.delete("id in (0, 1)")
        tx.delete("id = 9")
        own = data_files(table) - there
        table.delete("id in (0, 3)")
        table.delete("id = 12")
    gone = {0, 1, 3, 9, 12} | ({6} if before == "id = 6" else set())
    assert ids(late) == ids(table.refresh()) == [n for n in range(60) if n not in gone]
    vectors = deletes(late)
    assert len({file.referenced_data_file for file in vectors}) == len(vectors) == 2
    live = {file.file_path for file in vectors}
    assert live <= data_files(table)
    assert len(own) == 2 and own & data_files(table) == own & live, "one was superseded, and went"
    history = [one for one in table.snapshots() if one.operation == "delete"]
    assert len(history) == (5 if before == "id = 6" else 4)


def test_the_vectors_of_a_merge_that_is_tried_again_leave_no_file():
    table = filled()
    late, catalog = again(table), table._catalog
    commits, waiting = catalog.commit, ["id = 3", "id = 6"]

    class Overtaken:
        """A catalog in which others delete right before each of two commits."""

        def __getattr__(self, name: str) -> Any:
            return getattr(catalog, name)

        def commit(self, *given: Any) -> Any:
            if waiting:
                table.delete(waiting.pop())
            return commits(*given)

    late._catalog = Overtaken()  # type: ignore[assignment]
    late.delete("id = 0")
    assert not waiting
    assert ids(late) == [1, 2, 4, 5, *range(7, 60)]
    found = {path for path in data_files(late) if path.endswith(".puffin")}
    assert len(found) == 3  # two of the others, and the last that was merged


def test_an_update_that_overtook_a_delete_from_its_file_is_a_conflict():
    table = filled()
    late = again(table)
    refused = pytest.raises(ValidationException, match=r"gave data file .* a deletion vector")
    with refused, late.transaction() as tx:
        tx.delete("id = 0")
        own = {path for path in data_files(table) if path.endswith(".puffin")}
        table.delete("id = 3")
        other = again(table)
        (vector,) = deletes(other)
        change = RowDelta([new_file(other)], [], remove_deletes=[vector])
        commit(other._catalog, other.identifier, change, other._loaded)
        overwritten = again(other)
        change = RowDelta([new_file(other)], [vector])
        commit(other._catalog, other.identifier, change, overwritten._loaded)
    assert not data_files(table) & own
    assert 0 in ids(table.refresh())


def new_file(table: Table) -> DataFile:
    """A data file of one row, not committed."""
    (file,) = write_sorted_files(
        write_context(table.metadata, io=table.io),
        table.io,
        rows(id=[1000], k=["c"]).to_batches(),
    )
    return file


def test_a_vector_of_another_file_that_landed_since_is_no_conflict():
    table = filled()
    late = again(table)
    with late.transaction() as tx:
        tx.delete("id = 0")
        table.delete("id = 1")
    assert ids(late) == list(range(2, 60))


def test_a_vector_that_landed_since_is_a_conflict_with_a_rewrite_of_its_file():
    table = filled()
    head = table.current_snapshot()
    assert head is not None
    tasks = table.scan("k = 'a'").plan_files()
    rewrite = RewriteFiles(
        [], [data_file(task) for task in tasks], planned_on=head.snapshot_id,
        data_sequence_number=head.sequence_number,
    )  # fmt: skip
    table.delete("id = 0")
    with pytest.raises(ValidationException, match="applies to"):
        commit(table._catalog, table.identifier, rewrite, table._loaded)


def test_a_vector_that_landed_since_is_a_conflict_with_copy_on_write():
    table = filled(**{"write.delete.mode": "copy-on-write"})
    late = again(table)
    refused = pytest.raises(ValidationException, match="applies to")
    with refused, late.transaction() as tx:
        tx.delete("id = 0")
        table.update_properties().set(MERGE_ON_READ).commit()
        table.delete("id = 3")
    assert 0 in ids(table.refresh())


# -------------------------------------------------------------------------------- all else


def test_upserts_delete_superseded_rows_of_their_own_by_vectors():
    table = filled()
    letters = ["a", "b", "a", "c"]
    table.upsert(rows(id=[100, 101, 100, 0], k=letters, _op=["I", "I", "U", "U"]), ["id", "k"])
    kinds = {file.file_format for file in deletes(table) if file.content == 1}
    assert kinds == {FileFormat.PUFFIN}
    found = table.scan().to_arrow()
    assert sorted(found["id"].to_pylist())[-2:] == [100, 101]


def test_equality_deletes_become_vectors_that_take_in_what_there_is():
    table = filled()
    table.delete("id in (0, 30)")
    table.upsert(rows(id=[3, 200], k=["a", "b"]), ["id", "k"])
    before = table.scan().to_arrow().sort_by("id")
    said = table.maintenance.convert_equality_deletes()
    assert table.scan().to_arrow().sort_by("id") == before
    assert all(file.file_format is FileFormat.PUFFIN for file in deletes(table))
    assert sorted(file.record_count for file in deletes(table)) == [1, 2]
    assert (said.added_delete_files, said.removed_delete_files) == (1, 3)
    assert summary(table)["operation"] == "replace"


@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_position_deletes_of_an_upgraded_table_become_vectors(granularity: str):
    table = filled(**{"format-version": "2", "write.delete.granularity": granularity})
    table.delete("id in (0, 1, 30)")
    upgrade(table)
    table.delete("id = 2")
    before = ids(table)
    numbers = {
        task.file_path: max(one.data_sequence_number for one in task.delete_files)
        for task in table.scan().plan_files()
        if task.delete_files
    }
    table.maintenance.rewrite_position_deletes()
    found = [file for task in table.scan().plan_files() for file in task.delete_files]
    assert {file.file_format for file in found} == {FileFormat.PUFFIN}
    assert {file.referenced_data_file: file.data_sequence_number for file in found} == numbers
    assert ids(table) == before
    assert len({file.file_path for file in deletes(table)}) == 2
    table.maintenance.rewrite_position_deletes()
    assert {file.file_path for file in deletes(table)} == {file.file_path for file in found}


def test_a_puffin_file_is_kept_as_long_as_one_of_its_vectors_is_reachable():
    table = filled()
    table.delete("id in (0, 1)")
    table.delete("id = 3")
    table.maintenance.expire_snapshots(older_than=2**62, retain_last=1)
    assert ids(table) == [2, *range(4, 60)]
    assert len([path for path in data_files(table) if path.endswith(".puffin")]) == 2
    table.delete("id = 4")
    table.maintenance.expire_snapshots(older_than=2**62, retain_last=1)
    assert len([path for path in data_files(table) if path.endswith(".puffin")]) == 2
    assert ids(table) == [2, *range(5, 60)]


def test_changes_are_what_a_vector_has_more_than_the_one_before():
    table = filled(partition_by=())
    table.delete("id in (0, 1, 40)")
    start = table.snapshots()[-1].snapshot_id
    table.delete("id in (2, 41)")
    found = table.scan().changes(start).to_arrow()
    assert sorted(found["id"].to_pylist()) == [2, 41]
    assert set(found["_change_type"].to_pylist()) == {"DELETE"}


def test_metadata_tables_show_vectors():
    table = filled(partition_by=())
    table.delete("id in (0, 1, 40)")
    vectors = {file.referenced_data_file: file for file in deletes(table)}
    shown = table.inspect.delete_files()
    for name in ("content_offset", "content_size_in_bytes", "record_count"):
        of_path = dict(
            zip(shown["referenced_data_file"].to_pylist(), shown[name].to_pylist(), strict=True)
        )
        assert of_path == {path: getattr(file, name) for path, file in vectors.items()}
    lines = table.inspect.position_deletes()
    assert isinstance(lines, pa.Table)
    assert sorted(lines["pos"].to_pylist()) == [0, 1, 10]
    assert set(lines["file_path"].to_pylist()) == set(vectors)
