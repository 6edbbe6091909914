"""Locations taken apart at their last slash."""

import pyarrow as pa
import pytest

from iceberg_spark.io.places import split_paths

LOCATIONS = ["s3://b/w/t/data/a.parquet", "/a", "/a/b/", "//", "/x/\n/é.avro", "/x/a\nb"]


@pytest.mark.parametrize("more", [[], ["no slash", ""], [None]])
def test_folder_and_name_join_to_the_location(more: list[str | None]) -> None:
    paths = pa.array([*LOCATIONS, *more], pa.string())
    folders, names = (part.to_pylist() for part in split_paths(paths))
    for path, folder, name in zip(paths.to_pylist(), folders, names, strict=True):
        if path is None:
            assert (folder, name) == (None, None)
        elif "/" in path:
            assert (f"{folder}/{name}", "/" in name) == (path, False)
        else:
            assert (folder, name) == (path, path)


def test_chunks_and_no_locations_at_all() -> None:
    folders, names = split_paths(pa.chunked_array([["/a/b"], ["/c/d"]]))
    assert (folders.to_pylist(), names.to_pylist()) == (["/a", "/c"], ["b", "d"])
    folders, names = split_paths(pa.array([], pa.string()))
    assert (len(folders), len(names)) == (0, 0)
