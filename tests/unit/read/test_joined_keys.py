"""Keys of a small table's rows tell which files of a large one may be needed: by partition."""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.read.joined_keys import can_prune, is_small, keys_of, with_keys
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec.types import NestedField

EPOCH = dt.date(1970, 1, 1)
DAYS = [EPOCH + dt.timedelta(days=n) for n in (-800, -31, -1, 0, 1, 40, 800)]
KINDS: dict[str, Sequence[Any]] = {
    "int": [-61, -30, -1, 0, 29, 30, 1000],
    "bigint": [-(1 << 40), -1, 0, 1, 1 << 40],
    "date": DAYS,
    "timestamp": [dt.datetime(d.year, d.month, d.day, 13, tzinfo=dt.UTC) for d in DAYS],
    "string": ["", "a", "ab", "abc", "\U0001f600x", "Z"],
    "decimal(9,2)": [Decimal("-10.01"), Decimal("0.00"), Decimal("0.01"), Decimal("99.99")],
}
TRANSFORMS = {
    "identity": ("int", "bigint", "date", "timestamp", "string", "decimal(9,2)"),
    "bucket(4, k)": ("int", "bigint", "date", "timestamp", "string", "decimal(9,2)"),
    "truncate(3, k)": ("int", "bigint", "string", "decimal(9,2)"),
    "years(k)": ("date", "timestamp"),
    "months(k)": ("date", "timestamp"),
    "days(k)": ("date", "timestamp"),
    "hours(k)": ("timestamp",),
}
CASES = [(how, kind) for how, kinds in TRANSFORMS.items() for kind in kinds]


def table(place: Path, kind: str, by: Sequence[str], keys: Sequence[Any]) -> ice.Table:
    made = ice.create_table(str(place), f"k {kind}, n int", partition_by=list(by))
    append(made, keys)
    return made


def append(to: ice.Table, keys: Sequence[Any]) -> None:
    to.refresh()
    kinds = pa.schema([to.scan().to_arrow().schema.field(name) for name in ("k", "n")])
    to.append(pa.table({"k": list(keys), "n": range(len(keys))}, schema=kinds))


def planned(of: ice.Table, row_filter: str | None = None) -> tuple[ScanPlan, NestedField]:
    of.refresh()
    plan = of.scan(row_filter).plan_files()
    return plan, plan.context.table_schema.find_field("k")


def keys_in(of: ice.Table, plan: ScanPlan) -> set[Any]:
    paths = set(plan.files.column("file_path").to_pylist())
    rows = of.scan(metadata_columns=["_file"]).to_arrow().to_pylist()
    return {row["k"] for row in rows if row["_file"] in paths}


@pytest.mark.parametrize(("how", "kind"), CASES)
def test_no_file_with_a_key_is_left_out(tmp_path: Path, how: str, kind: str) -> None:
    values = KINDS[kind]
    by = ["k"] if how == "identity" else [how]
    large = table(tmp_path / "large", kind, by, [*values, None])
    small = table(tmp_path / "small", kind, (), [*values, None])
    plan, column = planned(large)
    for place, value in enumerate(values):
        few, key = planned(small, f"n = {place}")
        assert is_small(few) and can_prune(plan, column, key)
        keys = keys_of(few, key)
        assert keys.to_pylist() == [value]
        fewer = with_keys(plan, column, keys)
        assert fewer is not None and len(fewer) < len(plan)
        found = keys_in(large, fewer)
        assert value in found and None not in found
        if how == "identity":
            assert found == {value}
        assert fewer.metrics.result_data_files == len(fewer)
        assert fewer.metrics.total_record_count == len(
            [one for one in large.scan().to_arrow().column("k").to_pylist() if one in found]
        )
    every, key = planned(small, "n >= 0")
    fewer = with_keys(plan, column, keys_of(every, key))
    assert fewer is not None and keys_in(large, fewer) == set(values)


def test_no_keys_leave_no_files_and_null_is_no_key(tmp_path: Path) -> None:
    large = table(tmp_path / "large", "int", ["k"], [1, 2, None])
    small = table(tmp_path / "small", "int", (), [None, None])
    plan, column = planned(large)
    few, key = planned(small, "n = 1")
    assert keys_of(few, key).to_pylist() == []
    fewer = with_keys(plan, column, keys_of(few, key))
    assert fewer is not None and len(fewer) == 0


def test_files_of_older_specs_stay_where_those_tell_nothing(tmp_path: Path) -> None:
    large = table(tmp_path / "large", "int", (), [1, 2])
    large.update_spec().add_field("bucket(8, k)").commit()
    append(large, [1, 2, 3, 4])
    large.update_spec().add_field("k").commit()
    append(large, [1, 2, 3, 4])
    small = table(tmp_path / "small", "int", (), [3])
    plan, column = planned(large)
    few, key = planned(small, "n = 0")
    fewer = with_keys(plan, column, keys_of(few, key))
    assert fewer is not None
    specs = fewer.files.column("spec_id").to_pylist()
    assert specs.count(0) == 1 and specs.count(1) == 1 and specs.count(2) == 1
    assert keys_in(large, fewer) == {1, 2, 3}


def test_old_writers_rounded_moments_before_1970_up(tmp_path: Path) -> None:
    """Java up to 0.10 put 1969-12-31 into day 0; a partition one above may hold the key."""
    moments = [dt.datetime(1969, 12, 31, 10, tzinfo=dt.UTC), dt.datetime(1970, 1, 1, tzinfo=dt.UTC)]
    large = table(tmp_path / "large", "timestamp", ["days(k)"], moments)
    small = table(tmp_path / "small", "timestamp", (), moments[:1])
    plan, column = planned(large)
    few, key = planned(small, "n = 0")
    assert with_keys(plan, column, keys_of(few, key)) is None


def test_keys_that_leave_all_and_types_that_differ_prune_nothing(tmp_path: Path) -> None:
    large = table(tmp_path / "large", "int", ["k"], [1, 2])
    plan, column = planned(large)
    for kind in ("bigint", "double"):
        _, key = planned(table(tmp_path / kind, kind, (), [1]))
        assert not can_prune(plan, column, key)
    few, key = planned(table(tmp_path / "small", "int", (), [1]), "k is not null")
    assert can_prune(plan, column, key) and not is_small(few)
    unpartitioned, other = planned(table(tmp_path / "flat", "int", (), [1]))
    assert not can_prune(unpartitioned, other, key)


def test_floats_have_several_forms_and_prune_nothing(tmp_path: Path) -> None:
    large = ice.create_table(str(tmp_path / "large"), "k double, n int", partition_by=["k"])
    large.append(pa.table({"k": [0.0, -0.0], "n": pa.array([1, 2], pa.int32())}))
    plan, column = planned(large)
    assert not can_prune(plan, column, column)
