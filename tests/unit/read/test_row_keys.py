"""Keys of rows that stay, as they are read and as Java takes them."""

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.read.row_keys import (
    Needed,
    RowKeys,
    TextCondition,
    can_be_key,
    read_keys,
    whole_numbers,
)
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec import types as t


def plan_of(table: ice.Table, where: str | None = None) -> ScanPlan:
    return table.scan(where).plan_files()


def fields_of(plan: ScanPlan) -> dict[str, t.NestedField]:
    return {one.name: one for one in plan.context.table_schema.fields}


def make_table(path: Path) -> ice.Table:
    table = ice.create_table(str(path), "id bigint, nation int, name string")
    rows = {"id": [1, 2, 3, 4, None], "nation": [7, 7, 8, None, 7], "name": list("aabbc")}
    table.append(pa.table({**rows, "nation": pa.array(rows["nation"], pa.int32())}))
    return table.refresh()


def test_keys_are_those_of_rows_that_the_condition_leaves_each_once(tmp_path: Path) -> None:
    plan = plan_of(make_table(tmp_path / "t"), "name = 'a' or name = 'c'")
    fields = fields_of(plan)
    read = read_keys(plan, [fields["nation"], fields["id"]])
    assert read.rows == 3
    assert [one.to_pylist() for one in read.keys] == [[7], [1, 2]]


def test_rows_need_keys_of_other_tables(tmp_path: Path) -> None:
    plan = plan_of(make_table(tmp_path / "t"))
    fields = fields_of(plan)
    needed = RowKeys(fields["nation"], pa.array([8, 9], pa.int32()))
    read = read_keys(plan, [fields["id"]], Needed([needed]))
    assert (read.rows, read.keys[0].to_pylist()) == (1, [3])


@pytest.mark.parametrize(
    ("text", "at_end", "ids"),
    [("a", False, [1, 3]), ("a", True, [1]), ("", False, [1, 2, 3]), ("%", False, []),
     (".", False, []), ("\u00e4", False, [2])],
)  # fmt: skip
def test_rows_need_texts_as_they_stand(
    tmp_path: Path, text: str, at_end: bool, ids: list[int]
) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, name string")
    table.append(pa.table({"id": [1, 2, 3, 4], "name": ["xa", "y\u00e4", "axx", None]}))
    plan = plan_of(table.refresh())
    fields = fields_of(plan)
    needed = Needed(texts=[TextCondition(fields["name"], text, at_end)])
    assert read_keys(plan, [fields["id"]], needed).keys[0].to_pylist() == ids


def test_deleted_rows_have_no_keys(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    table.delete("id in (1, 2)")
    plan = plan_of(table.refresh(), "name = 'a'")
    assert read_keys(plan, [fields_of(plan)["id"]]).keys[0].to_pylist() == []


def test_keys_of_no_rows_are_none(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    plan = plan_of(table)
    read = read_keys(plan, [fields_of(plan)["id"]])
    assert read.rows == 0 and read.keys[0].to_pylist() == []


@pytest.mark.parametrize(
    ("kind", "values", "numbers"),
    [
        (t.IntegerType(), pa.array([-1, 2**31 - 1], pa.int32()), [-1, 2**31 - 1]),
        (t.LongType(), pa.array([-(2**63), 2**63 - 1]), [-(2**63), 2**63 - 1]),
        (t.DateType(), pa.array([date(1969, 12, 31), date(1970, 1, 3)]), [-1, 2]),
        (
            t.TimestamptzType(),
            pa.array([datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
            [1_000_000],
        ),
        (t.TimestampType(), pa.array([-86_400_000_000], pa.timestamp("us")), [-86_400_000_000]),
        (
            t.DecimalType(precision=18, scale=2),
            pa.array([Decimal("-0.01"), Decimal("9999999999999999.99")], pa.decimal128(18, 2)),
            [-1, 999_999_999_999_999_999],
        ),
    ],
)  # fmt: skip
def test_keys_are_numbers_of_eight_bytes(
    kind: t.IcebergType, values: Any, numbers: list[int]
) -> None:
    field = t.NestedField(1, "k", kind)
    packed = whole_numbers(RowKeys(field, values))
    assert packed == struct.pack(f"<{len(numbers)}q", *numbers)
    behind = pa.concat_arrays([values[:1], values])[1:]
    assert whole_numbers(RowKeys(field, behind)) == packed


def test_texts_are_no_numbers() -> None:
    assert whole_numbers(RowKeys(t.NestedField(1, "k", t.StringType()), pa.array(["a"]))) is None


@pytest.mark.parametrize(
    "kind",
    [t.DoubleType(), t.FloatType(), t.BooleanType(), t.DecimalType(19, 0), t.UUIDType(),
     t.BinaryType(), t.TimestampNanoType()],
)  # fmt: skip
def test_what_has_several_forms_or_does_not_fit_is_no_key(kind: t.IcebergType) -> None:
    assert not can_be_key(kind)
