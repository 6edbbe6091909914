"""Native frames have the same rows and types under many settings of Spark at once.

ATTACK_BUNDLES=40 tries so many bundles of settings (`make attack`), ATTACK_SEED=7 draws others.
"""

import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table, TableScan
from tests.spark.delete_commits import delete_keys, delete_positions
from tests.spark.hostile_settings import bundle, every_setting, settings
from tests.spark.native_tables import METADATA_COLUMNS, every_type_table, evolve, rows

BUNDLES = int(os.environ.get("ATTACK_BUNDLES", "2"))
SEED = int(os.environ.get("ATTACK_SEED", "0"))
SIZE = 60
PLAIN = "select id, string(id) as s from range(9) where id > 3 order by id desc"


@dataclass(frozen=True, slots=True)
class Known:
    """A scan and what it gives without Spark's reader."""

    scan: TableScan
    type: Any
    rows: list[str]


@pytest.fixture(scope="module")
def known(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Known]:
    """Of all types, evolved with deletes of both kinds, and with names that are patterns."""
    plain = every_type_table(tmp_path_factory.mktemp("plain"))
    evolved = every_type_table(tmp_path_factory.mktemp("evolved"))
    delete_positions(evolved, [(evolved.scan().plan_files()[0], [1])])
    delete_keys(evolved, [{"id": 4}], 0, (0,))
    evolve(evolved)
    evolved.append(pa.table({"id": [100], "b": [7], "s": pa.array([8], pa.int32())}))
    tables = plain, evolved, _oddly_named(tmp_path_factory.mktemp("names"))
    scans = [table.scan(metadata_columns=METADATA_COLUMNS) for table in tables]
    frames = [scan.to_df(spark, engine="arrow") for scan in scans]
    return [Known(one, by.schema, rows(by)) for one, by in zip(scans, frames, strict=True)]


def _oddly_named(folder: Path) -> Table:
    table = ice.create_table(f"{folder}/it's 100%2F", "id bigint, p string", partition_by=["p"])
    with table.update_schema() as update:
        for name in ("x|id", "a.c", "new\nline"):
            update.add_column((name,), "int")
    columns = {name: pa.array(range(6), pa.int32()) for name in ("x|id", "a.c", "new\nline")}
    parts = ["a/b", "%2F", "'", None, "x\n", "{*}"]
    table.append(pa.table({"id": range(6), "p": parts, **columns}))
    delete_positions(table, [(table.scan().plan_files()[0], [0])])
    return table


@pytest.mark.parametrize("number", range(BUNDLES))
def test_no_row_depends_on_the_settings_of_a_session(
    spark: Any, known: list[Known], number: int
) -> None:
    pick = random.Random(SEED * 1_000 + number)
    values = bundle(pick, every_setting(spark), SIZE)
    before = [one.scan.to_df(spark) for one in known]
    with settings(spark, values):
        spark.sql(PLAIN).collect()  # fails where Spark itself can't live with the settings
        for one, frame in zip(known, before, strict=True):
            after = one.scan.to_df(spark)
            assert (frame.schema, after.schema) == (one.type, one.type), values
            assert rows(frame) == one.rows, f"made before {values}"
            assert rows(after) == one.rows, f"made after {values}"


def test_binary_is_the_same_row_however_python_is_shown_it(spark: Any) -> None:
    frame = spark.sql("select x'38' b, array(struct(x'39' c)) l, map('k', x'3A') m")
    expected = rows(frame)
    with settings(spark, {"spark.sql.execution.pyspark.binaryAsBytes": "false"}):
        assert type(frame.first().b) is bytearray
        assert rows(frame) == expected
