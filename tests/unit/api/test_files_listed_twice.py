"""A snapshot that lists a data file twice: its rows are there twice, and not changed singly."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from iceberg_spark import Table
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.scan.planned_files import data_file
from tests.unit.api.tables import ids, make, rows

MODES = ("copy-on-write", "merge-on-read")


def listed_twice(folder: Path, mode: str = "copy-on-write") -> tuple[Table, str]:
    """Ids 1 and 2 in a file that is listed twice, 3 in another one."""
    path = str(folder / "twice.parquet")
    pq.write_table(rows(id=[1, 2], k=["a", "b"]), path)
    table = make(folder / "t", **{"write.delete.mode": mode})
    table.append(rows(id=[3], k=["c"]))
    table.add_files(path)
    with pytest.raises(InvalidInputError, match="is a data file of the table already"):
        table.add_files(path)
    table.add_files(path, check_duplicate_files=False)
    return table, path


def test_its_rows_are_read_and_counted_twice(tmp_path: Path) -> None:
    table, _ = listed_twice(tmp_path)
    assert ids(table) == [1, 1, 2, 2, 3]
    assert table.scan().count() == 5
    assert table.scan("id = 2").count() == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_change_of_some_of_its_rows_names_it(mode: str, tmp_path: Path) -> None:
    table, path = listed_twice(tmp_path, mode)
    with pytest.raises(ValidationException, match=f"{path} is listed 2 times"):
        table.delete("id = 1")
    with pytest.raises(ValidationException, match=f"{path} is listed 2 times"):
        table.overwrite(rows(id=[9]), "id = 1")
    assert ids(table) == [1, 1, 2, 2, 3]
    table.delete("id = 3")
    assert ids(table) == [1, 1, 2, 2]


@pytest.mark.parametrize("mode", MODES)
def test_it_goes_as_a_whole(mode: str, tmp_path: Path) -> None:
    table, _ = listed_twice(tmp_path, mode)
    assert table.delete("id < 3").deleted == 4
    assert ids(table) == [3]
    assert table.current_snapshot().summary["total-records"] == "1"


def test_it_can_be_listed_once_again(tmp_path: Path) -> None:
    table, path = listed_twice(tmp_path)
    file = next(data_file(task) for task in table.scan().plan_files() if task.file_path == path)
    with table.transaction() as tx:
        tx.overwrite_files(add=[file], delete=[file])
    assert ids(table) == [1, 2, 3]
    table.delete("id = 1")
    assert ids(table) == [2, 3]


def test_a_path_is_given_once_in_a_commit(tmp_path: Path) -> None:
    path = str(tmp_path / "1.parquet")
    pq.write_table(rows(id=[1]), path)
    table = make(tmp_path / "t")
    with pytest.raises(InvalidInputError, match=r"1\.parquet is given twice"):
        table.add_files([path, path])
    assert table.current_snapshot() is None
