"""Keys of equality deletes that are looked up in a table, which is part of an expression."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.spark.catalyst.classic_frame import physical_plan
from iceberg_spark.spark.deletes import apply_deletes as apply_deletes_module
from iceberg_spark.spark.deletes import equality_keys as equality_keys_module
from iceberg_spark.spark.deletes.limits import KEYS as KEYS_OF_DELETES
from tests.builders import field
from tests.limits import set_limits
from tests.oracle.compare import assert_same_rows
from tests.spark.delete_commits import delete_keys, delete_positions

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Draw = Callable[[random.Random], Any]
DRAWS: dict[str, Draw] = {
    "int": lambda d: d.choice([0, 1, -1, 2**31 - 1, -(2**31), d.randrange(50)]),
    "long": lambda d: d.choice([0, -1, 2**63 - 1, -(2**63), 2**32, d.randrange(50)]),
    "string": lambda d: d.choice(["", "a", "ab", "żółć", "x" * 40, f"s{d.randrange(20)}"]),
    "binary": lambda d: d.choice([b"", b"\x00", b"\xff\x80", d.randbytes(2)]),
    "decimal(9, 2)": lambda d: Decimal(d.randrange(-20, 20)).scaleb(-2),
    "decimal(30, 5)": lambda d: Decimal(d.randrange(-20, 20)) * 10**20,
    "date": lambda d: date(2020, 1, 1) + timedelta(d.choice([0, -(10**5), d.randrange(30)])),
    "timestamptz": lambda d: EPOCH + timedelta(microseconds=d.randrange(-20, 20)),
    "timestamp": lambda d: (EPOCH + timedelta(days=d.randrange(-20, 20))).replace(tzinfo=None),
    "boolean": lambda d: d.choice([True, False]),
    "uuid": lambda d: UUID(int=d.randrange(20)).bytes,
    "fixed[3]": lambda d: d.randbytes(1) * 3,
}
SCHEMA = ice.Schema(*(field(at, f"c{at}", kind) for at, kind in enumerate(DRAWS, start=1)))
NAMES = SCHEMA.column_names
DENSE = {"int": lambda d: d.randrange(300), "long": lambda d: 2**40 + d.randrange(500)}


def drawn_rows(drawn: random.Random, count: int, draws: dict[str, Draw] = DRAWS) -> pa.Table:
    """Rows of drawn values, of which a tenth are NULL."""
    columns = [
        [None if drawn.random() < 0.1 else draws.get(kind, draw)(drawn) for _ in range(count)]
        for kind, draw in DRAWS.items()
    ]
    return pa.Table.from_pydict(dict(zip(NAMES, columns, strict=True)), to_arrow(SCHEMA))


def keys_of(rows: pa.Table, drawn: random.Random, names: Sequence[str], count: int) -> list[dict]:
    """Keys of some of the rows, and some that no row has."""
    chosen = [drawn.randrange(len(rows)) for _ in range(count)]
    found = rows.select(names).take(chosen).to_pylist()
    return found + drawn_rows(drawn, count // 3 + 1).select(names).to_pylist()


def assert_right(table: Table, spark: Any) -> str:
    """Native rows are the Arrow engine's, with deleted ones and without; returns the plan."""
    for names in (("_deleted", "_pos"), ()):
        scan = table.scan(metadata_columns=names)
        frame, expected = (scan.to_df(spark, engine=engine) for engine in ("native", "arrow"))
        assert_same_rows(expected.toArrow(), frame.toArrow(), what=str(names))
    return physical_plan(frame)


def assert_looked_up(table: Table, spark: Any) -> None:
    """Rows are right, and nothing but an expression finds keys."""
    assert "MapInArrow" not in assert_right(table, spark)


KEYS = [
    ["c1"], ["c3"], ["c7"], ["c4", "c5"], ["c5", "c6"], ["c8", "c9", "c10"], ["c11", "c12"],
    ["c2", "c3", "c7"], NAMES,
]  # fmt: skip


@pytest.mark.parametrize("names", KEYS, ids="-".join)
def test_keys_of_every_type_are_looked_up(
    spark: SparkSession, tmp_path: Path, names: list[str]
) -> None:
    check_keys(spark, tmp_path, names, {})


@pytest.mark.parametrize("names", [["c1", "c3"], ["c2", "c1"]], ids="-".join)
def test_keys_that_lie_close_together_are_looked_up(
    any_spark: Any, tmp_path: Path, names: list[str]
) -> None:
    check_keys(any_spark, tmp_path, names, DENSE)


def check_keys(any_spark: Any, tmp_path: Path, names: list[str], draws: dict[str, Draw]) -> None:
    drawn = random.Random(f"{names}{len(draws)}")
    table = ice.create_table(str(tmp_path / "t"), SCHEMA)
    for _ in range(3):
        rows = drawn_rows(drawn, 300, draws)
        table.append(rows)
        delete_keys(table, keys_of(rows, drawn, names, 40))
    if "c6" in names and len(names) < 3:  # whose hash isn't known here: nothing tells keys apart
        assert "MapInArrow" in assert_right(table, any_spark)
    else:
        assert_looked_up(table, any_spark)


def test_keys_hold_in_their_partition_and_for_older_rows(any_spark: Any, tmp_path: Path) -> None:
    drawn = random.Random(5)
    table = ice.create_table(str(tmp_path / "t"), SCHEMA, partition_by=["bucket(3, c2)"])
    for _ in range(3):
        rows = drawn_rows(drawn, 300)
        table.append(rows)
        tasks = list(table.scan().plan_files())
        for partition in {task.partition for task in tasks if drawn.random() < 0.7}:
            delete_keys(table, keys_of(rows, drawn, ["c3", "c7"], 40), at=partition)
        delete_positions(table, [(tasks[0], [0, 5])])
    with table.update_spec() as update:
        update.remove_field("c2_bucket")
    delete_keys(table.refresh(), keys_of(rows, drawn, ["c1", "c3"], 20))
    assert_looked_up(table, any_spark)


def test_a_table_of_keys_is_made_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, made = random.Random(6), []
    rows = drawn_rows(drawn, 100)
    table = ice.create_table(str(tmp_path / "t"), SCHEMA)
    table.append(rows)
    delete_keys(table, keys_of(rows, drawn, ["c3", "c7"], 10))
    origin = equality_keys_module.local_keys
    monkeypatch.setattr(
        equality_keys_module, "local_keys", lambda *args: made.append(1) or origin(*args)
    )
    assert_looked_up(table, spark)
    assert_looked_up(ice.load_table(table.location()), spark)
    assert len(made) == 1
    delete_keys(table, keys_of(rows, drawn, ["c3", "c7"], 10))
    assert_looked_up(table, spark)
    assert len(made) == 2


def test_a_key_column_that_was_widened_since_is_looked_up_by_its_new_type(
    spark: SparkSession, tmp_path: Path
) -> None:
    kind = "a int, d decimal(9,2), s string"
    table = ice.create_table(str(tmp_path / "t"), kind)
    rows = pa.table(
        {
            "a": pa.array(range(10), pa.int32()),
            "d": pa.array([Decimal(at) for at in range(10)], pa.decimal128(9, 2)),
            "s": [f"s{at}" for at in range(10)],
        }
    )
    table.append(rows)
    delete_keys(table, [{"a": 3, "s": "s3"}])
    delete_keys(table, [{"d": Decimal(5), "s": "s5"}])
    assert_looked_up(table, spark)
    with table.refresh().update_schema() as update:
        update.update_column("a", "bigint")
        update.update_column("d", "decimal(18,2)")
    assert_looked_up(table.refresh(), spark)
    left = table.scan().to_df(spark, engine="native").collect()
    assert sorted(row.a for row in left) == [0, 1, 2, 4, 6, 7, 8, 9]


def test_long_texts_are_distinguished_by_another_column_or_joined(
    spark: SparkSession, tmp_path: Path
) -> None:
    long = "x" * (KEYS_OF_DELETES.hashed_value_bytes + 1)
    table = ice.create_table(str(tmp_path / "t"), "id bigint, s string")
    table.append(pa.table({"id": range(6), "s": [long, long, "a", None, f"{long}y", "b"]}))
    delete_keys(table, [{"id": 1, "s": long}, {"id": 4, "s": "a"}, {"id": 3, "s": None}])
    assert_looked_up(table, spark)
    delete_keys(table, [{"s": f"{long}y"}])
    assert "MapInArrow" in assert_right(table, spark)
    left = table.scan().to_df(spark, engine="native").collect()
    assert sorted(row.id for row in left) == [0, 2, 5]


def test_keys_that_no_hash_tells_apart_are_joined(spark: SparkSession, tmp_path: Path) -> None:
    """At once: a table would be tried for long."""
    count = 20_000
    table = ice.create_table(str(tmp_path / "t"), "d decimal(30,0), k int")
    numbers = pa.array([Decimal(at) for at in range(count)], pa.decimal128(30, 0))
    rows = pa.table({"d": numbers, "k": pa.array([at // 2 for at in range(count)], pa.int32())})
    table.append(rows)
    delete_keys(table, rows.slice(0, count // 2).to_pylist())
    assert "MapInArrow" in assert_right(table, spark)


@pytest.mark.parametrize("limit", ["local_keys", "local_files", "local_bytes"])
def test_keys_beyond_the_drivers_limits_are_joined(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    drawn = random.Random(7)
    rows = drawn_rows(drawn, 100)
    table = ice.create_table(str(tmp_path / "t"), SCHEMA)
    table.append(rows)
    delete_keys(table, keys_of(rows, drawn, ["c3", "c7"], 10))
    for module in (apply_deletes_module, equality_keys_module):
        set_limits(monkeypatch, module, "KEYS", **{limit: 0})
    assert "MapInArrow" in assert_right(table, spark)


def test_filters_reach_the_files_below_keys(spark: SparkSession, tmp_path: Path) -> None:
    drawn = random.Random(8)
    rows = drawn_rows(drawn, 100)
    table = ice.create_table(str(tmp_path / "t"), SCHEMA)
    table.append(rows)
    delete_keys(table, keys_of(rows, drawn, ["c3", "c7"], 10))
    frame = table.scan().to_df(spark, engine="native").where("c1 = 7")
    assert "PushedFilters: [IsNotNull(c1), EqualTo(c1,7)]" in physical_plan(frame)


def test_code_that_looks_keys_up_is_short_enough_to_be_compiled(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The JVM interprets methods of more than 8,000 bytes for ever."""
    drawn = random.Random(9)
    rows = drawn_rows(drawn, 100)
    table = ice.create_table(str(tmp_path / "t"), SCHEMA)
    table.append(rows)
    delete_keys(table, keys_of(rows, drawn, ["c1", "c2", "c3", "c7"], 10))
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        table.scan().to_df(spark, engine="native").explain("codegen")
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    said = capsys.readouterr().out
    sizes = [int(part.split(";")[0]) for part in said.split("maxMethodCodeSize:")[1:]]
    assert sizes and max(sizes) < 6000
