"""Names and constants of native frames whatever Spark's parser is told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark.spark.reading.plan_frame import plan_frame
from iceberg_spark.spec.schema import Schema
from tests.builders import field
from tests.spark.delete_commits import delete_positions
from tests.spark.hostile_settings import settings
from tests.spark.test_native_reading import DEFAULTS, PARSER


def test_a_name_of_a_table_with_deletes_is_no_pattern_whatever_the_session_says(
    any_spark: Any, tmp_path: Path
) -> None:
    """`x|id` as a pattern is the column `id` and not `x|id`: as many columns, other values."""
    fields = [field(at, name, "long") for at, name in enumerate(("id", "x|id", "a.c"), 1)]
    table = ice.create_table(str(tmp_path / "t"), Schema(*fields))
    table.append(pa.table({"id": range(5), "x|id": range(10, 15), "a.c": range(20, 25)}))
    delete_positions(table, [(table.scan().plan_files()[0], [2])])
    live = [(n, n + 10, n + 20) for n in (0, 1, 3, 4)]
    before = table.scan().to_df(any_spark)
    with settings(any_spark, {"spark.sql.parser.quotedRegexColumnNames": "true"}):
        assert sorted(map(tuple, table.scan().to_df(any_spark).collect())) == live
        assert sorted(map(tuple, before.collect())) == live


def test_a_default_is_the_same_text_however_spark_reads_quotes(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": range(4)}))
    plan = table.scan(row_filter="id < 2").plan_files()
    wanted = Schema(*plan.context.read_schema.fields, DEFAULTS[-1])
    plan = replace(plan, context=replace(plan.context, table_schema=wanted, read_schema=wanted))
    before = plan_frame(plan, spark, engine="native")
    with settings(spark, PARSER):
        for frame in (before, plan_frame(plan, spark, engine="native")):
            assert {row.s for row in frame.collect()} == {"it's \\ é"}
