"""What a hostile table reaches: files elsewhere, and the reader's memory."""

import tracemalloc
from pathlib import Path

import pytest

from iceberg_spark.errors import CorruptFileError, IcebergError
from tests.hostile.rig import HostileTable, make_sparse
from tests.unit.api.tables import files_below, ids, make, rows

LATER = 1 << 60  # ms: everything is older
MOST_MEMORY = 64 << 20


@pytest.mark.parametrize("widened", ["location", "write.data.path", "write.metadata.path"])
def test_a_tables_own_words_have_no_other_file_deleted(tmp_path: Path, widened: str) -> None:
    victim = make(tmp_path / "victim")
    victim.append(rows(id=[7], k=["a"]))
    before = files_below(tmp_path / "victim")
    [data] = (tmp_path / "victim" / "data").rglob("*.parquet")
    hostile = HostileTable(tmp_path / "t")
    hostile.load().append(rows(id=[1], k=["a"]))
    hostile.names("data", str(data))
    if widened == "location":
        hostile.says(location=str(tmp_path / "victim"))
    else:
        hostile.says({widened: str(data.parent)})
    table = hostile.load()
    table.delete("true")
    result = table.maintenance.expire_snapshots(LATER)
    assert result.outside == (str(data),)
    with pytest.raises(IcebergError):
        table.maintenance.remove_orphan_files(
            older_than=LATER, allow_recent=True, location=str(tmp_path / "victim")
        )
    assert before <= files_below(tmp_path / "victim")
    assert ids(victim) == [7]


@pytest.mark.parametrize("what", ["metadata", "manifest list", "manifest"])
def test_a_sparse_file_of_gigabytes_is_not_read_whatever_it_is(tmp_path: Path, what: str) -> None:
    hostile = HostileTable(tmp_path / "t")
    hostile.load().append(rows(id=[1], k=["a"]))
    folder = tmp_path / "t" / "metadata"
    [path] = {
        "metadata": [hostile.newest],
        "manifest list": folder.glob("snap-*.avro"),
        "manifest": folder.glob("*-m0.avro"),
    }[what]
    make_sparse(path)
    tracemalloc.start()
    try:
        with pytest.raises(CorruptFileError, match=f"{path.name} has 8,589,934,592 bytes"):
            hostile.load().scan().to_arrow()
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [8 << 30, 1 << 30])
def test_a_sparse_hint_is_no_hint_and_not_read(tmp_path: Path, size: int) -> None:
    hostile = HostileTable(tmp_path / "t")
    hostile.load().append(rows(id=[1], k=["a"]))
    make_sparse(tmp_path / "t" / "metadata" / "version-hint.text", size)
    tracemalloc.start()
    try:
        assert ids(hostile.load()) == [1]
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()
