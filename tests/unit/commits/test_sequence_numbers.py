"""The cases of sequence number inheritance (specification: "Sequence Number Inheritance")."""

import time
from concurrent.futures import ThreadPoolExecutor

import fastavro
import pytest

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.commits import snapshot_producer
from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.delete_files import DeleteFiles
from iceberg_spark.commits.metadata_changes import UpdateProperties
from iceberg_spark.commits.rewrite_files import RewriteFiles
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.spec.data_file import ManifestEntry, ManifestEntryStatus
from tests.builders import equality_deletes
from tests.unit.commits.tables import IO, entries, file, make_table, manifests, run


def by_name(table: LoadedTable) -> dict[str, ManifestEntry]:
    return {
        entry.data_file.file_path.rpartition("/")[2].removesuffix(".parquet"): entry
        for entry in entries(table.metadata)
    }


def numbers(entry: ManifestEntry) -> tuple[int | None, int | None]:
    return entry.data_sequence_number, entry.file_sequence_number


def stored(path: str) -> list[dict[str, object]]:
    with IO.open(path) as opened:
        return [dict(row) for row in fastavro.reader(opened)]  # type: ignore[arg-type]


def test_a_new_file_has_null_numbers_in_its_manifest_and_inherits_the_snapshots():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    table = run(table, AppendFiles([file(table, "b")]))
    newest = manifests(table.metadata)[0]
    (row,) = stored(newest.manifest_path)
    assert (row["sequence_number"], row["file_sequence_number"]) == (None, None)
    assert row["snapshot_id"] == table.metadata.current_snapshot_id
    assert numbers(by_name(table)["b"]) == (2, 2)
    assert (newest.sequence_number, newest.min_sequence_number) == (2, 2)


def test_existing_and_deleted_files_keep_their_numbers_written_out():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a"), file(table, "b")]))
    table = run(table, AppendFiles([file(table, "c")]))
    gone = file(table, "a").file_path
    table = run(table, DeleteFiles([gone]))
    found = by_name(table)
    assert found["a"].status is ManifestEntryStatus.DELETED
    assert found["a"].snapshot_id == table.metadata.current_snapshot_id
    assert found["b"].status is ManifestEntryStatus.EXISTING
    assert numbers(found["a"]) == numbers(found["b"]) == (1, 1)
    rewritten = next(each for each in manifests(table.metadata) if each.deleted_files_count)
    assert all(row["sequence_number"] == 1 for row in stored(rewritten.manifest_path))
    assert (rewritten.sequence_number, rewritten.min_sequence_number) == (3, 1)


@pytest.mark.parametrize("given", [1, None])
def test_a_compacted_file_may_keep_the_data_sequence_number_of_its_rows(given: int | None):
    table = make_table()
    table = run(table, AppendFiles([file(table, "a"), file(table, "b")]))
    read = table.metadata.current_snapshot_id
    replaced = [file(table, "a"), file(table, "b")]
    action = RewriteFiles(
        [file(table, "ab")], replaced, planned_on=read, data_sequence_number=given
    )
    table = run(table, action)
    assert numbers(by_name(table)["ab"]) == (given or 2, 2)
    (row,) = (
        row
        for row in stored(manifests(table.metadata)[0].manifest_path)
        if row["status"] == ManifestEntryStatus.ADDED
    )
    assert (row["sequence_number"], row["file_sequence_number"]) == (given, None)
    assert manifests(table.metadata)[0].min_sequence_number == (given or 2)
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None and snapshot.operation == "replace"


def test_equality_deletes_committed_since_still_apply_to_such_a_compacted_file():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    read = table.metadata.current_snapshot_id
    table = run(table, RowDelta(deletes=[equality_deletes([1], file(table, "e").file_path)]))
    action = RewriteFiles(
        [file(table, "b")], [file(table, "a")], planned_on=read, data_sequence_number=1
    )
    table = run(table, action)
    found = by_name(table)
    assert numbers(found["b"]) == (1, 3)
    assert (found["e"].data_sequence_number or 0) > (found["b"].data_sequence_number or 0)


def test_delete_files_of_one_row_delta_have_the_number_of_its_data_files():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    delete = equality_deletes([1], file(table, "e").file_path)
    table = run(table, RowDelta([file(table, "b")], [delete]))
    found = by_name(table)
    assert numbers(found["a"]) == (1, 1)
    assert numbers(found["b"]) == numbers(found["e"]) == (2, 2)


def test_a_v1_manifest_reads_as_zero_after_an_upgrade_and_stays_so_when_rewritten():
    table = make_table(format_version=1, **{"commit.manifest.min-count-to-merge": "2"})
    table = run(table, AppendFiles([file(table, "a")], merge=False))
    assert numbers(by_name(table)["a"]) == (0, 0)
    table = run(table, UpdateProperties({"format-version": "2"}))
    assert table.metadata.format_version == 2
    table = run(table, AppendFiles([file(table, "b")]))
    found = by_name(table)
    assert len(manifests(table.metadata)) == 1
    assert numbers(found["a"]) == (0, 0)
    assert numbers(found["b"]) == (1, 1)
    assert manifests(table.metadata)[0].min_sequence_number == 0


def test_threads_that_write_manifests_of_one_commit_get_one_snapshot_id(
    monkeypatch: pytest.MonkeyPatch,
):
    """Another one in a manifest refuses the commit: its entries would inherit nothing."""
    drawn = iter(range(1, 100))

    def slow(_bound: int) -> int:
        number = next(drawn)
        time.sleep(0.01)  # the others come meanwhile
        return number

    monkeypatch.setattr(snapshot_producer.secrets, "randbelow", slow)
    base, producer = make_table().metadata, snapshot_producer.SnapshotProducer()
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: producer.snapshot_id(base), range(8)))
    assert len(found) == 1
