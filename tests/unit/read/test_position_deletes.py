"""Position deletes: which rows they take, from which files, and how much is read for it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.spec import reserved
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.schema import Schema
from tests.builders import field, schema, struct
from tests.unit.read.files import (
    PATHS,
    context,
    delete_file,
    position_deletes,
    read,
    task,
    write,
)

TABLE = schema(field(1, "id", "long"))
FORMATS = pytest.mark.parametrize("file_format", [f for f in FileFormat if f != "PUFFIN"])


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "data", TABLE, [{"id": i} for i in range(10)], row_group_size=4)


def live(path: str, *deletes, cache: BoundedCache | None = None) -> list[int]:
    found = read(context(TABLE), task(path, delete_files=deletes), cache)
    return found.column("id").to_pylist()


@FORMATS
def test_deletes_of_every_format_take_their_positions(data: str, tmp_path: Path, file_format):
    deletes = position_deletes(
        tmp_path / "d", [(data, 0), (data, 4), (data, 9)], file_format=file_format
    )
    assert live(data, deletes) == [1, 2, 3, 5, 6, 7, 8]


def test_order_repetition_and_other_data_files_do_not_matter(data: str, tmp_path: Path):
    pairs = [(data, 7), ("/other", 1), (data, 2), (data, 7), ("/a", 2), (data, 2)]
    assert live(data, position_deletes(tmp_path / "d", pairs)) == [0, 1, 3, 4, 5, 6, 8, 9]


def test_deletes_of_several_files_add_up(data: str, tmp_path: Path):
    first = position_deletes(tmp_path / "d1", [(data, 0), (data, 1)])
    second = position_deletes(tmp_path / "d2", [(data, 1), (data, 9)])
    assert live(data, first, second) == list(range(2, 9))


def test_all_rows_deleted_gives_no_rows(data: str, tmp_path: Path):
    assert live(data, position_deletes(tmp_path / "d", [(data, i) for i in range(10)])) == []


def test_positions_beyond_the_file_and_above_32_bits_are_kept_apart(data: str, tmp_path: Path):
    deletes = position_deletes(tmp_path / "d", [(data, 10), (data, 2**32 + 3), (data, 2**40)])
    assert live(data, deletes) == list(range(10))


def test_a_deleted_row_column_is_read_past(data: str, tmp_path: Path):
    row = struct(field(1, "id", "long", required=True))
    with_row = Schema(*PATHS.fields, reserved.delete_row_field(row))
    path = write(tmp_path / "d", with_row, [{"file_path": data, "pos": 3, "row": {"id": 3}}])
    assert live(data, delete_file(path, DataFileContent.POSITION_DELETES)) == [
        0, 1, 2, 4, 5, 6, 7, 8, 9,
    ]  # fmt: skip


def test_columns_without_ids_are_found_by_name(data: str, tmp_path: Path):
    path = str(tmp_path / "d")
    pq.write_table(pa.table({"pos": [5], "file_path": [data]}), path)
    assert 5 not in live(data, delete_file(path, DataFileContent.POSITION_DELETES))


def test_a_referenced_data_file_stands_for_the_path_column(data: str, tmp_path: Path):
    deletes = position_deletes(tmp_path / "d", [(data, 1), (data, 2)], referenced_data_file=data)
    assert live(data, deletes) == [0, *range(3, 10)]


@pytest.mark.parametrize("spelling", ["file:{}", "file://{}"])
def test_another_spelling_of_the_path_counts_when_no_path_is_equal(
    data: str, tmp_path: Path, spelling: str
):
    other = spelling.format(data)
    assert live(data, position_deletes(tmp_path / "d1", [(other, 1)])) == [0, *range(2, 10)]
    both = position_deletes(tmp_path / "d2", [(other, 1), (data, 2)])
    assert live(data, both) == [0, 1, *range(3, 10)]


class TestLargeDeleteFiles:
    """A file too large for the cache is read for one data file at a time, by row groups."""

    def test_only_row_groups_with_the_path_are_read(self, data: str, tmp_path: Path):
        others = [f"/data/{i:04d}" for i in range(50)]
        pairs = [(path, i) for path in others for i in range(100)]
        mine = [(data, 3), (data, 8)]
        path = tmp_path / "d"
        deletes = position_deletes(
            path, sorted([*pairs, *mine]), record_count=5002, options={"row_group_size": 100}
        )
        # Damage the pages of a row group that holds other paths only.
        described = pq.ParquetFile(path).metadata.row_group(3).column(1)
        content = bytearray(path.read_bytes())
        begin = described.dictionary_page_offset or described.data_page_offset
        content[begin : begin + described.total_compressed_size] = bytes(
            described.total_compressed_size
        )
        path.write_bytes(content)
        small = BoundedCache(5002 * 8)
        assert live(data, deletes, cache=small) == [0, 1, 2, 4, 5, 6, 7, 9]
        with pytest.raises(CorruptFileError, match="d"):
            live(data, deletes, cache=BoundedCache())

    def test_the_rows_are_the_same_however_small_the_cache(self, data: str, tmp_path: Path):
        pairs = [(data, 3), ("/x", 1), (f"file:{data}", 5)]
        deletes = position_deletes(tmp_path / "d", pairs)
        expected = live(data, deletes)
        assert expected == [0, 1, 2, 4, 5, 6, 7, 8, 9]
        for capacity in (0, 1, 1000):
            assert live(data, deletes, cache=BoundedCache(capacity)) == expected


def test_a_delete_file_is_decoded_once_for_all_its_data_files(tmp_path: Path):
    paths = [write(tmp_path / name, TABLE, [{"id": i} for i in range(3)]) for name in "ab"]
    where = tmp_path / "d"
    deletes = position_deletes(where, [(paths[0], 0), (paths[1], 2)])
    cache = BoundedCache()
    assert live(paths[0], deletes, cache=cache) == [1, 2]
    where.unlink()
    assert live(paths[1], deletes, cache=cache) == [0, 1]


def test_bad_delete_files_are_named(data: str, tmp_path: Path):
    negative = position_deletes(tmp_path / "negative", [(data, -1)])
    with pytest.raises(CorruptFileError, match="negative"):
        live(data, negative)
    gone = delete_file(str(tmp_path / "gone"), DataFileContent.POSITION_DELETES)
    with pytest.raises(NoSuchFileError, match="gone"):
        live(data, gone)
    no_pos = write(tmp_path / "nopos", schema(reserved.DELETE_FILE_PATH), [{"file_path": data}])
    with pytest.raises(CorruptFileError, match=r"'pos'.*nopos"):
        live(data, delete_file(no_pos, DataFileContent.POSITION_DELETES))
    wrong = delete_file(data, DataFileContent.DATA)
    with pytest.raises(CorruptFileError, match="listed as a delete file"):
        live(data, wrong)


def split_of(path: str, first_group: int, end_group: int) -> tuple[int, int]:
    """Return start and length of the split of some row groups."""
    footer = pq.ParquetFile(path).metadata
    starts = [
        min(
            column.data_page_offset,
            column.dictionary_page_offset or column.data_page_offset,
        )
        for column in (footer.row_group(i).column(0) for i in range(footer.num_row_groups))
    ] + [Path(path).stat().st_size]
    return starts[first_group], starts[end_group] - starts[first_group]


def test_a_split_does_not_open_deletes_whose_positions_lie_outside_its_rows(
    data: str, tmp_path: Path
):
    start, length = split_of(data, 1, 2)  # rows 4 to 7
    outside = [
        delete_file(
            str(tmp_path / name),
            DataFileContent.POSITION_DELETES,
            first_position=first,
            last_position=last,
        )
        for name, first, last in (("before", 0, 3), ("after", 8, 9))
    ]
    inside = position_deletes(tmp_path / "d", [(data, 5)], first_position=5, last_position=5)
    split = task(data, start=start, length=length, delete_files=(*outside, inside))
    assert read(context(TABLE), split).column("id").to_pylist() == [4, 6, 7]


def test_a_whole_file_reads_all_its_deletes(data: str, tmp_path: Path):
    missing = delete_file(str(tmp_path / "gone"), DataFileContent.POSITION_DELETES)
    with pytest.raises(NoSuchFileError, match="gone"):
        live(data, missing)
