"""Snapshot summaries as Java writes them."""

from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.summary import changes, totals
from tests.builders import data_file, equality_deletes, position_deletes


def test_an_append_counts_files_rows_and_bytes():
    assert changes([data_file("a"), data_file("b", record_count=5, file_size_in_bytes=7)]) == {
        "added-data-files": "2",
        "added-records": "15",
        "added-files-size": "107",
        "changed-partition-count": "1",
    }


def test_removed_files_are_counted_apart():
    found = changes([], [data_file(), equality_deletes([1])])
    assert found == {
        "deleted-data-files": "1",
        "removed-equality-delete-files": "1",
        "removed-delete-files": "1",
        "deleted-records": "10",
        "removed-files-size": "200",
        "removed-equality-deletes": "10",
        "changed-partition-count": "1",
    }


def test_delete_files_are_counted_by_kind():
    vector = position_deletes(
        "v.puffin", file_format=FileFormat.PUFFIN, content_size_in_bytes=30, record_count=3
    )
    assert changes([position_deletes(), equality_deletes([1]), vector]) == {
        "added-equality-delete-files": "1",
        "added-position-delete-files": "1",
        "added-delete-files": "3",
        "added-dvs": "1",
        "added-files-size": "230",
        "added-position-deletes": "13",
        "added-equality-deletes": "10",
        "changed-partition-count": "1",
    }


def test_changed_partitions_are_counted_once():
    files = [data_file(str(at), partition=(at % 3,)) for at in range(9)]
    assert changes(files[:5], files[5:])["changed-partition-count"] == "3"


def test_nothing_changed_counts_nothing():
    assert changes([]) == {"changed-partition-count": "0"}


def path_of(file):
    return f"p={file.partition[0]}" if file.partition else ""


def test_partitions_are_summed_up_to_the_limit():
    files = [data_file(str(at), partition=(at,)) for at in range(2)]
    found = changes(files, path_of=path_of, partition_limit=2)
    assert found["partition-summaries-included"] == "true"
    assert found["partitions.p=1"] == "added-data-files=1,added-records=10,added-files-size=100"
    assert "partitions.p=1" not in changes(files, path_of=path_of, partition_limit=1)


def test_totals_start_at_zero():
    assert totals(None, changes([data_file(), position_deletes()])) == {
        "total-records": "10",
        "total-files-size": "200",
        "total-data-files": "1",
        "total-delete-files": "1",
        "total-position-deletes": "10",
        "total-equality-deletes": "0",
    }


def test_totals_go_on_from_the_head():
    head = totals(None, changes([data_file(), data_file("b")]))
    after = totals(head, changes([data_file("c")], [data_file()]))
    assert (after["total-data-files"], after["total-records"]) == ("2", "20")
    assert after["total-files-size"] == "200"


def test_a_total_that_the_head_does_not_have_stays_unknown():
    assert totals({"total-records": "x"}, changes([data_file()])) == {}


def test_a_total_never_falls_below_zero():
    assert totals({"total-records": "3"}, {"deleted-records": "4"}) == {}
