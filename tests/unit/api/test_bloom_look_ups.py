"""Changes leave out files whose Bloom filters prove that they lack the values of the filter."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.row_level import target_files as module
from iceberg_spark.row_level.key_ranges import key_values, most_values, ranges_of
from iceberg_spark.row_level.target_files import TargetOptions, target_files
from tests.limits import set_limits
from tests.unit.api.tables import ids, make

FILES, STEP = 12, 50
ENABLED = "write.parquet.bloom-filter-enabled.column."
SHARE = "write.parquet.bloom-filter-fpp.column."


def scattered(kind: str = "bigint", value: Any = lambda n: n, **properties: str) -> Table:
    """A table of files with the same range of ids: file n has n, n + 12, n + 24, ..."""
    table = make(schema=f"id {kind}, n int, x double", **{**on("id"), **properties})
    for first in range(FILES):
        append(table, [value(n) for n in range(first, FILES * STEP, FILES)], first)
    return ice.load_table(table.location())


def on(*names: str) -> dict[str, str]:
    return {f"{ENABLED}{name}": "true" for name in names}


def append(table: Table, values: list[Any], first: int = 0) -> None:
    kind = table.scan().to_arrow().schema.field("id").type
    count = len(values)
    columns = [pa.array(values, kind), pa.array([first] * count, pa.int32())]
    table.append(pa.table([*columns, pa.array([float("nan")] * count)], ["id", "n", "x"]))


def stored_ids(table: Table, task: Any) -> list[int]:
    with table.io.open(task.file_path) as file:
        return pq.read_table(file)["id"].to_pylist()


def files(table: Table, where: str) -> int:
    target = target_files(table.metadata, table.io, parse_predicate(where), TargetOptions())
    return len(target.plan)


@pytest.fixture(scope="module")
def table() -> Table:
    return scattered()


def test_files_without_a_value_are_left_out(table: Table) -> None:
    assert files(table, "id = 85") in (1, 2)
    assert 2 <= files(table, "id IN (85, 86)") <= 5
    assert files(table, "id IN (5, 17) AND n < 100") in (1, 2)
    assert files(table, "id = 85 OR id = 86") <= 5


def test_files_with_a_value_are_never_left_out(table: Table) -> None:
    tasks = list(table.scan().plan_files())
    for value in range(0, FILES * STEP, 23):
        predicate = parse_predicate(f"id = {value}")
        target = target_files(table.metadata, table.io, predicate, TargetOptions())
        owner = next(task for task in tasks if value in stored_ids(table, task))
        assert owner.file_path in [task.file_path for task in target.plan]


def test_filters_without_an_equality_open_no_file(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "may_have_matches", lambda *_: pytest.fail("opened"))
    for where in ("id > 5", "id = 5 OR n = 1", "n = 1", "id != 5", "id IS NULL OR id = 5"):
        files(table, where)
    many = ", ".join(str(value) for value in range(200))
    assert files(table, f"id IN ({many})") == FILES


def test_no_file_is_opened_without_the_property(monkeypatch: pytest.MonkeyPatch) -> None:
    table = scattered(**{f"{ENABLED}id": "false"})
    monkeypatch.setattr(module, "may_have_matches", lambda *_: pytest.fail("opened"))
    assert files(table, "id = 85") == FILES


def test_files_without_filters_are_not_all_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    table = scattered(**{f"{ENABLED}id": "false"})
    table.update_properties().set(on("id")).commit()
    set_limits(monkeypatch, module, "LOOK_UPS", sampled_files=4)
    opened = []
    look = module.may_have_matches
    monkeypatch.setattr(
        module, "may_have_matches", lambda *args: opened.append(args) or look(*args)
    )
    assert files(table, "id = 85") == FILES
    assert len(opened) == 4


def test_only_so_many_files_are_opened(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, module, "LOOK_UPS", most_files=FILES - 1)
    assert files(table, "id = 85") == FILES


VALUES: dict[str, tuple[str, Any, str]] = {
    "int": ("int", lambda n: n, "85"),
    "string": ("string", lambda n: f"k{n:05d}", "'k00085'"),
    "date": ("date", lambda n: dt.date(2024, 1, 1) + dt.timedelta(n), "DATE'2024-03-26'"),
    "decimal": ("decimal(9, 2)", lambda n: Decimal(n) / 4, "21.25"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_types_that_files_store_exactly_are_looked_up(kind: str) -> None:
    declared, value, literal = VALUES[kind]
    table = scattered(declared, value)
    assert table.scan(f"id = {literal}").to_arrow()["n"].to_pylist() == [85 % FILES]
    assert files(table, f"id = {literal}") in (1, 2)


def test_evolved_columns_are_looked_up_as_their_files_store_them() -> None:
    table = scattered("int")
    with table.update_schema() as update:
        update.update_column("id", "bigint").rename_column("id", "key").add_column("y", "bigint")
    table.update_properties().set(on("key", "y")).commit()
    assert files(table, "key = 85") in (1, 2)
    assert files(table, "key = 4294967381") == 0  # 85 + 2^32 is above all bounds
    assert files(table, "y = 85") == FILES  # a column that no file has is unknown
    table.delete("key = 85")
    assert 85 not in table.scan().to_arrow()["key"].to_pylist()


def test_nan_is_not_looked_up_and_nulls_are_in_no_filter() -> None:
    table = scattered(**on("x"))
    assert files(table, "x = CAST('NaN' AS DOUBLE)") == FILES
    append(table, [None, 85])
    table = ice.load_table(table.location())
    assert files(table, "id = 85") in (2, 3)
    assert files(table, "id IS NULL") == 1


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_a_delete_opens_the_files_of_its_values(mode: str) -> None:
    table = scattered(**{"write.delete.mode": mode})
    table.delete("id IN (85, 86, 1000000)")
    assert ids(table) == [n for n in range(FILES * STEP) if n not in (85, 86)]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, 0),
        ({f"{ENABLED}id": "false"}, 0),
        (on("other"), 0),
        (on("id"), 137),
        ({**on("id"), f"{SHARE}id": "0.001"}, 1_000),
        ({**on("id"), f"{SHARE}id": "0.2"}, 6),
        ({**on("id"), f"{SHARE}id": "none"}, 0),
    ],
)
def test_values_are_looked_up_while_a_quarter_of_the_files_is_left_out(
    properties: dict[str, str], expected: int
) -> None:
    assert most_values(properties, "id") == expected


def test_few_keys_become_a_list_and_others_a_range() -> None:
    table = make(schema="id bigint, k string")
    keys = pa.table({"id": [3, 1, 3], "k": ["a", "b", "c"]})
    said = str(ranges_of(table.schema(), keys, on("id")))
    assert "In(" in said and "values=(3, 1)" in said and said.count("Op.GE") == 1
    assert "In(" not in str(ranges_of(table.schema(), keys))
    assert key_values("id", pa.chunked_array([[1, 2, 3]]), 2) is None
    assert key_values("k", pa.chunked_array([["x" * 300]]), 5) is None
    assert "IsNull" in str(key_values("id", pa.chunked_array([[1, None]]), 5))
