"""What is appended, merged and updated natively is the same under many settings of Spark.

ATTACK_BUNDLES=40 tries so many bundles of settings (`make attack`), ATTACK_SEED=7 draws others.
"""

import os
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from tests.spark.hostile_settings import WRITE_VALUES, bundle, settings

BUNDLES = int(os.environ.get("ATTACK_BUNDLES", "2"))
SEED = int(os.environ.get("ATTACK_SEED", "0"))
SIZE = 30
DDL = """
    id bigint, g string, ts timestamp, n timestamp_ntz, dt date, dec decimal(9,2),
    big decimal(30,3), f double, s string, bin binary, st struct<a: int, t: timestamp>
"""
NOON = datetime(2024, 11, 3, 5, 30, tzinfo=UTC)
"""A time of the hour that New York repeats."""
Rows = dict[int, dict[str, Any]]


def _row(k: int, text: str | None) -> dict[str, Any]:
    """Return a row whose times lie from before 1582 on, some in hours that zones skip."""
    year = 1500 + 61 * (k % 10)
    return {
        "id": k,
        "g": ["a", "b", None][k % 3],
        "ts": datetime(year, 3, 10, 2, 30, k, 123_456, tzinfo=UTC),
        "n": datetime(year, 3, 10, 2, 30, k, 1),  # noqa: DTZ001 (a wall clock)
        "dt": date(year, 1, 1 + k),
        "dec": Decimal(k).scaleb(-2),
        "big": Decimal(k * 10**20).scaleb(-3),
        "f": float("inf") if k % 5 == 0 else k / 3,
        "s": text if k % 4 else None,
        "bin": bytes([k]),
        "st": {"a": k, "t": NOON} if k % 3 else None,
    }


def _table(folder: Path, rows: Rows, partition_by: list[str], mode: str) -> Table:
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    table = ice.create_table(str(folder), DDL, partition_by=partition_by, properties=modes)
    if rows:
        table.append(pa.Table.from_pylist(list(rows.values()), schema=to_arrow(table.schema())))
    return table


def _same(table: Table, expected: Rows) -> bool:
    found = table.refresh().scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"]) == [expected[k] for k in sorted(expected)]


@pytest.mark.parametrize("number", range(BUNDLES))
def test_what_is_written_does_not_depend_on_the_settings_of_a_session(
    spark: Any, tmp_path: Path, number: int
) -> None:
    pick = random.Random(SEED * 1_000 + number)
    values = bundle(pick, WRITE_VALUES, SIZE)
    partition_by = ([], ["g"], ["dt"])[number % 3]
    mode = ("merge-on-read", "copy-on-write")[number % 2]
    first = {k: _row(k, "it's \\ \"") for k in range(8)}
    second = {k: _row(k, "new") for k in range(5, 12)}
    table = _table(tmp_path / "t", {}, partition_by, mode)
    sources = [
        _table(tmp_path / f"s{at}", rows, [], mode) for at, rows in enumerate((first, second))
    ]
    with settings(spark, values):
        given, others = (source.scan().to_df(spark) for source in sources)
        table.append(given, engine="native")
        assert _same(table, first), f"appended with {values}"
        table.merge(
            others, "t.id = s.id"
        ).when_matched_update_all().when_not_matched_insert_all().execute()
        merged = first | second
        assert _same(table, merged), f"merged with {values}"
        table.update(
            {"dt": "date'1583-01-01'", "ts": "ts + interval 1 hour", "g": "'c'"}, "id in (3, 6)"
        )
        for k in (3, 6):
            moved = {"dt": date(1583, 1, 1), "ts": merged[k]["ts"] + timedelta(hours=1), "g": "c"}
            merged[k] = merged[k] | moved
        assert _same(table, merged), f"updated with {values}"
