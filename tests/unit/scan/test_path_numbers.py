"""Numbers of paths that deletes aim at, by hashes and by Arrow's own search."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.arrow import polars_threads
from iceberg_spark.scan import delete_index as module
from iceberg_spark.scan.delete_index import path_numbers

PATHS = [f"s3://b/t/data/{number}.parquet" for number in range(50)]
ASKED = pa.chunked_array([[None, PATHS[7], "", PATHS[49]], ["s3://b", PATHS[0]]], pa.string())


def collide(paths: Any) -> Any:
    return np.zeros(len(paths), np.uint64)


def meet(paths: Any) -> Any:
    """Paths that were asked for have the hash of another one."""
    known = {path: at for at, path in enumerate(PATHS)}
    return np.array([known.get(path, 3) for path in paths.to_pylist()], np.uint64)


def lose_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars_threads._POLARS, "lost", True)


WAYS: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "hashes": lambda _: None,
    "hashes that collide": lambda patch: patch.setattr(module, "_hashes", collide),
    "hashes that others have": lambda patch: patch.setattr(module, "_hashes", meet),
    "after a fork": lose_threads,
}


@pytest.mark.parametrize("way", WAYS)
def test_paths_are_found_by_what_they_are(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLANNING", replace(module.PLANNING, hashed_paths=10))
    WAYS[way](monkeypatch)
    numbers, groups = path_numbers(pa.array([None, *PATHS, None], pa.string()))
    assert groups.tolist() == [-1, *range(50), -1]
    assert numbers.of(ASKED).tolist() == [-1, 7, -1, 49, -1, 0]
    assert (numbers.hashes is None) == (way in ("hashes that collide", "after a fork"))


def test_a_path_that_comes_twice_has_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLANNING", replace(module.PLANNING, hashed_paths=10))
    numbers, groups = path_numbers(pa.array([*PATHS, None, PATHS[3]], pa.string()))
    assert groups[[3, 50, 51]].tolist() == [3, -1, 3]
    assert numbers.of(pa.array([PATHS[3]])).tolist() == [3]
