"""Appending data files."""

import pytest

from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchSnapshotError,
)
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.snapshot import SnapshotRef, SnapshotRefType
from iceberg_spark.spec.updates import SetSnapshotRef
from tests.builders import equality_deletes
from tests.unit.commits.tables import (
    CATALOG,
    entries,
    file,
    live,
    make_table,
    manifests,
    metadata_names,
    referenced_names,
    reloaded,
    run,
)


def test_an_append_adds_its_files_to_those_before():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a"), file(table, "b")]))
    table = run(table, AppendFiles([file(table, "c")]))
    assert live(table.metadata) == {"a", "b", "c"}
    assert reloaded(table) == table
    assert metadata_names(table) == referenced_names(table.metadata)


def test_the_snapshots_summary_describes_the_append():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    first = table.metadata.current_snapshot
    table = run(
        table, AppendFiles([file(table, "b"), file(table, "c")], snapshot_properties={"job": "7"})
    )
    second = table.metadata.current_snapshot
    assert first is not None and second is not None
    assert (first.parent_snapshot_id, second.parent_snapshot_id) == (None, first.snapshot_id)
    assert (first.sequence_number, second.sequence_number) == (1, 2)
    assert second.schema_id == table.metadata.current_schema_id
    assert second.summary == {
        "operation": "append",
        "job": "7",
        "added-data-files": "2",
        "added-records": "20",
        "added-files-size": "200",
        "changed-partition-count": "1",
        "manifests-created": "1",
        "manifests-kept": "1",
        "manifests-replaced": "0",
        "total-records": "30",
        "total-files-size": "300",
        "total-data-files": "3",
        "total-delete-files": "0",
        "total-position-deletes": "0",
        "total-equality-deletes": "0",
    }


def test_partitions_are_summed_up_where_the_table_asks_for_that():
    table = make_table(["region"], **{"write.summary.partition-limit": "2"})
    table = run(table, AppendFiles([file(table, "a", "x"), file(table, "b", None)]))
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None
    wanted = "added-data-files=1,added-records=10,added-files-size=100"
    assert snapshot.summary["partition-summaries-included"] == "true"
    assert snapshot.summary["partitions.region=x"] == wanted
    assert snapshot.summary["partitions.region=null"] == wanted


def test_snapshot_ids_are_positive_and_differ():
    table = make_table()
    for name in "abcde":
        table = run(table, AppendFiles([file(table, name)]))
    ids = list(table.metadata.snapshots)
    assert len(set(ids)) == 5
    assert all(0 < number < 1 << 63 for number in ids)


def test_metadata_files_are_named_as_java_names_them():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None
    (manifest,) = manifests(table.metadata)
    unique = manifest.manifest_path.rpartition("/")[2].removesuffix("-m0.avro")
    assert str(snapshot.manifest_list).endswith(
        f"/metadata/snap-{snapshot.snapshot_id}-1-{unique}.avro"
    )


def test_manifests_go_to_the_metadata_path_of_the_table():
    table = make_table(**{"write.metadata.path": "elsewhere"})
    table = run(table, AppendFiles([file(table, "a")]))
    (manifest,) = manifests(table.metadata)
    assert manifest.manifest_path.startswith(f"{table.metadata.location}/elsewhere/")


def test_files_of_several_specs_get_manifests_of_their_own():
    table = make_table(["region"])
    table = run(table, AppendFiles([file(table, "a", "x"), file(table, "b", None)]))
    (manifest,) = manifests(table.metadata)
    assert manifest.partitions is not None
    assert manifest.partitions[0].contains_null
    assert manifest.partitions[0].lower_bound == b"x"


def test_a_repeated_path_is_refused_and_leaves_no_file():
    table = make_table()
    with pytest.raises(InvalidInputError, match=r"data/a\.parquet is given twice"):
        run(table, AppendFiles([file(table, "a"), file(table, "a")]))
    assert reloaded(table) == table
    assert metadata_names(table) == set()


def test_a_partition_tuple_of_the_wrong_length_is_refused():
    table = make_table(["region"])
    with pytest.raises(InvalidInputError, match=r"a\.parquet has 0 partition values"):
        run(table, AppendFiles([file(table, "a")]))


def test_an_unknown_spec_is_refused():
    table = make_table()
    with pytest.raises(InvalidInputError, match="has partition spec 5"):
        run(table, AppendFiles([file(table, "a", partition_spec_id=5)]))


def test_delete_files_are_not_appended():
    with pytest.raises(InvalidInputError, match="takes data files"):
        AppendFiles([equality_deletes([1])])


def test_an_append_goes_to_its_branch_and_leaves_main_alone():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    head = table.metadata.current_snapshot_id
    assert head is not None
    ref = SnapshotRef(head, SnapshotRefType.BRANCH, max_ref_age_ms=5)
    table = CATALOG.commit(table.identifier, [], [SetSnapshotRef("dev", ref)], table)
    table = run(table, AppendFiles([file(table, "b")], branch="dev"))
    assert live(table.metadata) == {"a"}
    assert live(table.metadata, "dev") == {"a", "b"}
    assert table.metadata.refs["dev"].max_ref_age_ms == 5
    assert table.metadata.current_snapshot_id == head


def test_an_unknown_branch_is_named():
    table = make_table()
    with pytest.raises(NoSuchSnapshotError, match="No branch 'dev'"):
        run(table, AppendFiles([file(table, "a")], branch="dev"))


def test_a_tag_is_not_written_to():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    ref = SnapshotRef(table.metadata.current_snapshot_id or 0, SnapshotRefType.TAG)
    table = CATALOG.commit(table.identifier, [], [SetSnapshotRef("v1", ref)], table)
    with pytest.raises(InvalidInputError, match="'v1' is a tag"):
        run(table, AppendFiles([file(table, "b")], branch="v1"))


def test_the_operation_is_not_a_snapshot_property():
    with pytest.raises(InvalidInputError, match="operation"):
        AppendFiles([], snapshot_properties={"operation": "append"})


def test_v1_tables_get_v1_manifests_without_sequence_numbers():
    table = make_table(format_version=1)
    table = run(table, AppendFiles([file(table, "a")]))
    table = run(table, AppendFiles([file(table, "b")]))
    assert [snapshot.sequence_number for snapshot in table.metadata.snapshots.values()] == [0, 0]
    assert {manifest.sequence_number for manifest in manifests(table.metadata)} == {0}
    assert {entry.data_sequence_number for entry in entries(table.metadata)} == {0}
    assert live(table.metadata) == {"a", "b"}


def test_an_append_merges_manifests_when_there_are_enough():
    table = make_table(**{"commit.manifest.min-count-to-merge": "3"})
    for name in "abc":
        table = run(table, AppendFiles([file(table, name)]))
    (manifest,) = manifests(table.metadata)
    assert (manifest.added_files_count, manifest.existing_files_count) == (1, 2)
    assert (manifest.sequence_number, manifest.min_sequence_number) == (3, 1)
    by_name = {entry.data_file.file_path[-9]: entry for entry in entries(table.metadata)}
    assert {name: entry.data_sequence_number for name, entry in by_name.items()} == {
        "a": 1,
        "b": 2,
        "c": 3,
    }
    assert by_name["c"].status is ManifestEntryStatus.ADDED
    assert (
        by_name["a"].snapshot_id
        == min(table.metadata.snapshots.values(), key=lambda each: each.sequence_number).snapshot_id
    )
    assert metadata_names(table) == referenced_names(table.metadata)


@pytest.mark.parametrize("off", ["property", "fast append"])
def test_manifests_are_not_merged_where_that_is_off(off: str):
    table = make_table(
        **{
            "commit.manifest.min-count-to-merge": "2",
            "commit.manifest-merge.enabled": str(off != "property").lower(),
        }
    )
    for name in "abc":
        table = run(table, AppendFiles([file(table, name)], merge=off == "property"))
    assert len(manifests(table.metadata)) == 3


def test_an_append_of_nothing_still_makes_a_snapshot():
    table = run(make_table(), AppendFiles([]))
    assert table.metadata.current_snapshot is not None
    assert live(table.metadata) == set()
