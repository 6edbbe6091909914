"""Children of a process that has read, as multiprocessing makes them on Linux."""

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import UnsupportedError

pytestmark = pytest.mark.timeout(120)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "k": ["a"] * len(ids)})


@pytest.fixture
def location(tmp_path: Path) -> str:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, k string", partition_by=["k"])
    table.append(rows(*range(100)))
    table.delete("id = 7")
    assert table.scan().to_arrow().num_rows == 99
    return table.location()


def ids(location: str, more_than: int = -1) -> list[int]:
    found = ice.load_table(location).scan(row_filter=f"id > {more_than}").to_arrow()
    return sorted(found["id"].to_pylist())


def write(location: str, number: int) -> None:
    table = ice.load_table(location)
    table.append(rows(number))
    table.delete(f"id = {number - 1000}")


def upsert(location: str) -> None:
    ice.load_table(location).upsert(rows(1), ["id", "k"])


def test_children_of_a_pool_read_append_and_delete_as_their_parent_does(location: str):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.starmap_async(ids, [(location, n) for n in range(4)]).get(60)
        assert found == [ids(location, n) for n in range(4)]
        for number in (1000, 1001):
            pool.starmap_async(write, [(location, number)]).get(60)
    assert ids(location) == [n for n in range(2, 100) if n != 7] + [1000, 1001]


def refused_in_a_child(work: Callable[[str], object], location: str) -> None:
    with (
        multiprocessing.get_context("fork").Pool(1) as pool,
        pytest.raises(UnsupportedError, match=r"get_context\('spawn'\)"),
    ):
        pool.apply_async(work, (location,)).get(60)


def test_what_would_wait_for_ever_in_a_child_is_an_error_that_says_what_to_do(location: str):
    refused_in_a_child(upsert, location)
    upsert(location)
    refused_in_a_child(ids, location)  # the deletes are by two keys
    assert 1 in ids(location)
