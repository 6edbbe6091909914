"""How Spark's reader gets each column of a group of files: decided once, without Spark."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading import engine_choice, footers
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin, Shield
from iceberg_spark.spark.reading.engine_choice import Reach, choose_engines
from iceberg_spark.spec.schema import Schema
from tests.builders import field, list_of, schema, struct
from tests.limits import set_limits

SHAPES = schema(
    field(1, "id", "long"),
    field(2, "d", "double"),
    field(3, "st", struct(field(7, "a", "int"))),
    field(4, "sf", struct(field(8, "f", "float"))),
    field(5, "u", "uuid"),
    field(6, "l", list_of(9, struct(field(10, "x", "int")))),
)


def made(folder: Path, columns: Any = "id bigint, k string", **options: Any) -> Table:
    return ice.create_table(str(folder / "t"), columns, **options)


def plans(table: Table, *, isolated: bool = True, **scan: Any) -> list[ColumnPlan]:
    groups = choose_engines(table.scan(**scan).plan_files(), Reach(isolated=isolated))
    return [group.columns for group in groups if group.columns is not None]


def how(plan: ColumnPlan) -> dict[str, tuple[str, Shield]]:
    """What each column of the files is asked for as, and what shields it."""
    return {
        column.field.name: (
            "" if column.requested is None else column.requested.name,
            column.shield,
        )
        for column in plan.read
    }


@pytest.fixture
def shapes(tmp_path: Path) -> Table:
    table = made(tmp_path, SHAPES)
    table.append(pa.table({"id": pa.array([1], pa.int64())}))
    return table


def test_what_a_file_provably_has_is_asked_for_by_its_name_and_floats_by_none(
    shapes: Table,
) -> None:
    (plan,) = plans(shapes)
    assert plan.by_id
    assert how(plan) == {
        "id": ("id", Shield.NONE),
        "d": ("__field_2", Shield.NONE),
        "st": ("st", Shield.NONE),
        "sf": ("__field_4", Shield.RENAMED),
        "u": ("u", Shield.NONE),
        "l": ("l", Shield.NONE),
    }


def test_where_ids_can_be_turned_off_every_column_keeps_its_name(shapes: Table) -> None:
    (plan,) = plans(shapes, isolated=False)
    assert how(plan) == {
        "id": ("id", Shield.NONE),
        "d": ("d", Shield.NAN),
        "st": ("st", Shield.NONE),
        "sf": ("sf", Shield.ROOT),
        "u": ("u", Shield.NONE),
        "l": ("l", Shield.NONE),
    }


def test_without_footers_nothing_is_asked_for_by_its_name(
    shapes: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, footers, "FOOTERS", local=0)
    (plan,) = plans(shapes)
    asked = how(plan)
    assert asked.keys() == {"id", "d", "st", "sf", "u", "l"}
    assert all(name.startswith("__field_") for name, _ in asked.values())


def test_uuids_are_16_bytes_and_none_that_is_as_read(shapes: Table) -> None:
    (plan,) = plans(shapes)
    column = plan.of(5)
    assert column.requested is not None
    assert str(column.requested.field_type) == "fixed[16]"
    assert not column.is_as_read
    assert plan.of(1).is_as_read


def test_metadata_columns_of_one_group_are_values_of_its_plan(tmp_path: Path) -> None:
    names = ("_file", "_pos", "_deleted", "_spec_id", "_partition")
    table = made(tmp_path, partition_by=["k"])
    table.append(pa.table({"id": [1, 2], "k": ["a", "b"]}))
    found = plans(table, metadata_columns=names)
    origins = [
        Origin.PATH, Origin.POSITION, Origin.DELETED, Origin.CONSTANT, Origin.PARTITION
    ]  # fmt: skip
    assert [[one.origin for one in plan.shown[2:]] for plan in found] == [origins] * 2
    partitions = [plan.shown[-1].value for plan in found]
    assert sorted(value for each in partitions for value in each.values()) == ["a", "b"]
    assert {plan.shown[-2].value for plan in found} == {0}


def test_columns_of_filter_and_deletes_are_read_and_not_shown(tmp_path: Path) -> None:
    table = made(tmp_path, "id bigint, k string, v int")
    table.append(pa.table({"id": [1], "k": ["a"], "v": pa.array([1], pa.int32())}))
    table.upsert(pa.table({"id": [1], "k": ["b"], "v": pa.array([2], pa.int32())}), keys=["id"])
    found = plans(table, row_filter="v > 0", selected_fields=("k",))
    assert [[one.field.name for one in plan.read] for plan in found] == [["k", "v"]] * 2
    assert sorted([one.field.name for one in plan.keys] for plan in found) == [[], ["id"]]
    assert not any(plan.is_as_read for plan in found)


def test_columns_are_planned_once_for_the_files_of_each_kind_of_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, properties={"write.delete.mode": "merge-on-read"})
    for start in (0, 10, 20):
        table.append(pa.table({"id": [start, start + 1], "k": ["a", "b"]}))
    table.delete("id = 1")
    table.upsert(pa.table({"id": [11], "k": ["c"]}), keys=["id"])
    entries = []
    origin = engine_choice.column_plans

    def noted(plan: ScanPlan, rows: Any, *arguments: Any, **options: Any) -> Any:
        entries.append(rows.tolist())
        return origin(plan, rows, *arguments, **options)

    monkeypatch.setattr(engine_choice, "column_plans", noted)
    groups = choose_engines(table.scan().plan_files(), Reach())
    assert sorted(map(sorted, entries)) == sorted(sorted(g.rows.tolist()) for g in groups)


def test_a_scan_that_spark_cannot_read_is_not_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, Schema(*schema(field(1, "id", "long"), field(2, "t", "time")).fields))
    table.append(pa.table({"id": pa.array([1], pa.int64())}))
    monkeypatch.setattr(engine_choice, "column_plans", pytest.fail)
    (group,) = choose_engines(table.scan().plan_files(), Reach())
    assert group.reason == "a type that Spark's reader lacks ('t')"
