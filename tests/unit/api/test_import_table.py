"""Tables of Parquet folders: beside them, and in their place (Java: snapshot, migrate)."""

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidSchemaError,
    TableAlreadyExistsError,
    UnsupportedError,
    ValidationException,
)
from tests.unit.api.tables import files_below, ids


def folder(where: Path) -> Path:
    """A Hive-style folder: a number, a day, a text with odd signs and null."""
    for number, (n, d, s) in enumerate(
        [(1, "2024-01-01", "x%2Fy"), (20, "2024-01-02", "__HIVE_DEFAULT_PARTITION__")]
    ):
        at = where / f"n={n}" / f"d={d}" / f"s={s}"
        at.mkdir(parents=True)
        pq.write_table(pa.table({"id": [number, number + 10], "v": [0.5, None]}), at / "f.parquet")
    (where / "_SUCCESS").write_bytes(b"")
    return where


def test_a_snapshot_shares_the_files_and_writes_elsewhere(tmp_path: Path) -> None:
    source = folder(tmp_path / "source")
    before = files_below(source)
    table = ice.snapshot(str(source), str(tmp_path / "t"))
    assert ids(table) == [0, 1, 10, 11]
    found = table.scan().to_arrow().sort_by("id").to_pylist()
    assert found[0] == {"id": 0, "v": 0.5, "n": 1, "d": date(2024, 1, 1), "s": "x/y"}
    assert found[1]["s"] is None
    assert [field.name for field in table.spec().fields] == ["n", "d", "s"]
    assert table.properties["gc.enabled"] == "false"
    assert table.properties["snapshot"] == "true"
    assert len(table.snapshots()) == 1
    table.delete("id = 0")
    table.overwrite(table.scan().to_arrow().slice(0, 1))
    with pytest.raises(ValidationException, match=r"gc\.enabled"):
        table.maintenance.expire_snapshots(older_than=1 << 60)
    assert files_below(source) == before


def test_a_migrated_folder_is_a_table_where_it_is(tmp_path: Path) -> None:
    source = folder(tmp_path / "source")
    table = ice.migrate(str(source), properties={"owner": "me"})
    assert table.location() == str(source)
    assert ids(ice.load_table(str(source))) == [0, 1, 10, 11]
    assert table.properties["migrated"] == "true"
    assert table.properties["owner"] == "me"
    table.delete("n = 1")
    table.maintenance.expire_snapshots(older_than=1 << 60)
    assert not list(source.glob("n=1/**/*.parquet"))
    with pytest.raises(TableAlreadyExistsError):
        ice.migrate(str(source))


def test_a_flat_folder_has_no_partitions_and_a_given_schema_counts(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "s" / "f.parquet")
    table = ice.snapshot(str(tmp_path / "s"), str(tmp_path / "t"), schema="id int, more string")
    assert table.spec().is_unpartitioned
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "more": None}]


@pytest.mark.parametrize("target", ["source", "source/below", ""])
def test_a_snapshot_that_overlaps_its_source_is_refused(tmp_path: Path, target: str) -> None:
    source = folder(tmp_path / "source")
    before = files_below(tmp_path)
    with pytest.raises(InvalidInputError):
        ice.snapshot(str(source), str(tmp_path / target))
    assert files_below(tmp_path) == before


def test_folders_that_hold_no_table_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match="No Parquet file"):
        ice.snapshot(str(tmp_path / "empty"), str(tmp_path / "t"))
    mixed = folder(tmp_path / "mixed")
    pq.write_table(pa.table({"id": [1]}), mixed / "f.parquet")
    with pytest.raises(InvalidInputError, match="other partition folders"):
        ice.migrate(str(mixed))
    odd = tmp_path / "odd"
    odd.mkdir()
    pq.write_table(pa.table({"id": [1]}), odd / "a.parquet")
    pq.write_table(pa.table({"id": [[1]]}), odd / "b.parquet")
    with pytest.raises(InvalidSchemaError):
        ice.migrate(str(odd))
    assert not (tmp_path / "t").exists()
    assert not (odd / "metadata").exists() and not (mixed / "metadata").exists()


def test_a_spark_table_is_not_migrated_by_name() -> None:
    with pytest.raises(UnsupportedError, match="folder"):
        ice.migrate("db.t")


def test_add_files_takes_the_partitions_that_are_asked_for(tmp_path: Path) -> None:
    source = folder(tmp_path / "source")
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, v double, n int, d date, s string",
        partition_by=["n", "d", "s"],
    )
    table.add_files(str(source), partition_filter={"n": 1, "s": "x/y"}, parallelism=2)
    assert ids(table) == [0, 10]
    with pytest.raises(InvalidInputError, match="No files"):
        table.add_files(str(source), partition_filter={"n": 7})
    with pytest.raises(InvalidInputError, match="'id'"):
        table.add_files(str(source), partition_filter={"id": 7})
    with pytest.raises(InvalidInputError, match="parallelism"):
        table.add_files(str(source), parallelism=0)
    assert ids(table) == [0, 10]
