"""A list of files in place of a listing: what is given is looked at by the same rules."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from iceberg_spark.errors import InvalidInputError, ValidationException
from tests.unit.api.tables import ids
from tests.unit.api.test_remove_orphan_files import old_table


def test_a_list_of_files_takes_the_place_of_the_listing(tmp_path: Path) -> None:
    table = old_table(tmp_path, "data/x.parquet", "data/y.parquet", "data/z.parquet")
    old, new = datetime(2020, 1, 1, tzinfo=UTC), datetime.now(UTC)
    live = [info.path for info in table.io.list(f"{tmp_path}/data") if "0000" in info.path]
    paths = [
        f"file://{tmp_path}/data/x.parquet",
        f"{tmp_path}/data/y.parquet",
        *live,
        f"{tmp_path}_2/data/z.parquet",
    ]
    times = [old, new, *[old] * len(live), old]
    changed = pa.array(times, pa.timestamp("us", "UTC"))
    listed = pa.table({"file_path": paths, "last_modified": changed})
    found = table.maintenance.remove_orphan_files(file_list_view=listed)
    assert found.orphan_file_locations == (f"file://{tmp_path}/data/x.parquet",)
    assert not (tmp_path / "data/x.parquet").exists()
    assert ids(table) == [1]


def test_a_list_of_files_without_its_columns_is_refused(tmp_path: Path) -> None:
    table = old_table(tmp_path)
    with pytest.raises(InvalidInputError, match="last_modified"):
        table.maintenance.remove_orphan_files(file_list_view=pa.table({"file_path": ["a"]}))
    wrong = pa.table({"file_path": ["a"], "last_modified": [1]})
    with pytest.raises(InvalidInputError, match="int64"):
        table.maintenance.remove_orphan_files(file_list_view=wrong)


def test_a_list_of_files_keeps_what_a_listing_keeps(tmp_path: Path) -> None:
    names = [
        "_hidden/a", "ck/offsets/0", "ck/metadata", "sub/_delta_log/0.json", "sub/a.parquet",
        "t2/metadata/v1.metadata.json", "t2/data/a.parquet", "data/.part", "data/x.parquet",
    ]  # fmt: skip
    table = old_table(tmp_path, *names)
    every = [info.path for info in table.io.list(str(tmp_path))]
    times = pa.array([0] * len(every), pa.timestamp("ms", "UTC"))
    listed = pa.table({"file_path": every, "last_modified": times})
    alone = table.maintenance.remove_orphan_files(dry_run=True)
    found = table.maintenance.remove_orphan_files(file_list_view=listed)
    assert found.orphan_file_locations == alone.orphan_file_locations
    assert [Path(one).name for one in found.orphan_file_locations] == ["x.parquet"]


def test_a_list_with_a_table_of_another_format_in_the_folder_is_refused(tmp_path: Path) -> None:
    table = old_table(tmp_path, "_delta_log/0.json", "data/x.parquet")
    every = [info.path for info in table.io.list(str(tmp_path))]
    times = pa.array([0] * len(every), pa.timestamp("ms", "UTC"))
    listed = pa.table({"file_path": every, "last_modified": times})
    with pytest.raises(ValidationException, match="_delta_log"):
        table.maintenance.remove_orphan_files(file_list_view=listed)
    assert (tmp_path / "data/x.parquet").exists()
