"""Two plans that were joined before are joined without reading keys, and only these two."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.read import joined_keys
from iceberg_spark.read.joined_keys import joined_plan
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec.types import NestedField


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Say of each reading of keys which column it was."""
    found: list[str] = []
    read: Callable[[ScanPlan, NestedField], pa.Array] = joined_keys.keys_of

    def keys_of(plan: ScanPlan, key: NestedField) -> pa.Array:
        found.append(key.name)
        return read(plan, key)

    monkeypatch.setattr(joined_keys, "keys_of", keys_of)
    return found


def table(place: Path, by: list[str]) -> ice.Table:
    made = ice.create_table(str(place), "k bigint, m bigint", partition_by=by)
    made.append(pa.table({"k": range(10), "m": [9 - k for k in range(10)]}))
    made.refresh()
    return made


def planned(of: ice.Table, row_filter: str | None = None) -> ScanPlan:
    return of.scan(row_filter).plan_files()


def column(plan: ScanPlan, name: str) -> NestedField:
    return plan.context.table_schema.find_field(name)


def ks(plan: ScanPlan | None) -> list[int]:
    assert plan is not None
    tuples = [part.tuples.field(0).to_pylist() for part in plan.partitions]
    places = plan.files.column("partition_index").to_pylist()
    return sorted([value for part in tuples for value in part][place] for place in places)


def test_plans_that_were_joined_before_are_joined_without_reading(
    tmp_path: Path, reads: list[str]
) -> None:
    large, small = table(tmp_path / "large", ["k"]), table(tmp_path / "small", [])
    for _ in range(3):
        plan, few = planned(large), planned(small, "m < 3")
        joined = joined_plan(plan, column(plan, "k"), few, column(few, "k"))
        assert ks(joined.plan) == [7, 8, 9] and joined.keys == 3
    assert reads == ["k"]


def test_another_filter_column_or_version_is_read_again(tmp_path: Path, reads: list[str]) -> None:
    large, small = table(tmp_path / "large", ["k"]), table(tmp_path / "small", [])

    def left(row_filter: str, key: str) -> list[int]:
        plan, few = planned(large), planned(small, row_filter)
        return ks(joined_plan(plan, column(plan, "k"), few, column(few, key)).plan)

    assert left("m < 3", "k") == [7, 8, 9]
    assert left("m < 3", "m") == [0, 1, 2]
    assert left("m < 2", "k") == [8, 9]
    small.append(pa.table({"k": [4], "m": [1]}))
    small.refresh()
    assert left("m < 2", "k") == [4, 8, 9]
    small.delete("k = 8")
    small.refresh()
    assert left("m < 2", "k") == [4, 9]
    large.delete("k = 9")
    large.refresh()
    assert left("m < 2", "k") == [4]
    assert reads == ["k", "m", "k", "k", "k", "k"]


def test_that_all_files_may_have_a_key_is_kept_as_well(tmp_path: Path, reads: list[str]) -> None:
    large, small = table(tmp_path / "large", ["k"]), table(tmp_path / "small", [])
    for _ in range(2):
        plan, few = planned(large), planned(small, "m < 10")
        joined = joined_plan(plan, column(plan, "k"), few, column(few, "k"))
        assert joined.plan is None and joined.keys == 10
    assert reads == ["k"]
