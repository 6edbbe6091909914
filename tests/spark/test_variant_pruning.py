"""Bounds of shredded fields leave files out of scans and changes, and never a row."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.api.table import Table
from iceberg_spark.expr.parse_variant import variant_conjuncts
from iceberg_spark.expr.variant_filter import variant_filter
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spark.reading.plan_frame import plan_frame
from tests.variant_conditions import ROWS, matching_ids, random_condition, rows_of_file

SHREDDED = {"format-version": "3", "write.parquet.shred-variants": "true"}
JSON = """concat('{"n": ', id, ', "s": "t', id, '", "o": {"p": ', id, '}, "x": ', id, 'e0}')"""
FILES, ROWS_A_FILE = 4, 10


def numbered(spark: SparkSession, first: int) -> Any:
    rows = spark.range(first, first + ROWS_A_FILE).coalesce(1)
    return rows.selectExpr("id", f"parse_json({JSON}) v")


def make(spark: SparkSession, place: Path, **properties: str) -> Table:
    """A table of four files with ten numbers each, as `n` of an object, and as text and double."""
    table = ice.create_table(str(place), "id bigint, v variant", properties=SHREDDED | properties)
    for number in range(FILES):
        table.append(numbered(spark, number * ROWS_A_FILE))
        table.refresh()
    return table


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return make(spark, tmp_path_factory.mktemp("bounds") / "t")


@pytest.fixture
def frame(spark: SparkSession, table: Table) -> Iterator[Any]:
    ice.enable(spark)
    yield spark.read.format("pyiceberg-lite").load(table.location())
    ice.disable(spark)


PRUNING = {
    "variant_get(v, '$.n', 'int') = 25": 1,
    "variant_get(v, '$.n', 'bigint') > 25": 2,
    "variant_get(v, '$.n', 'double') < 5.5D": 1,
    "variant_get(v, '$.n', 'decimal(9,2)') in (5, 35.5)": 2,
    "try_variant_get(v, '$[\"n\"]', 'int') between 5 and 15": 2,
    "variant_get(v, '$.s', 'string') = 't25'": 2,  # the first file has t2 and t3
    "variant_get(v, '$.s', 'string') like 't2%'": 2,  # the first file has t2
    "variant_get(v, '$.x', 'double') < 5": 1,
    "cast(variant_get(v, '$.n') as int) >= 30": 1,
    "not (variant_get(v, '$.n', 'int') < 30)": 1,
    "variant_get(v, '$.n', 'int') = 5 or id = 15": 2,
    "variant_get(v, '$.n', 'int') <=> 5": 1,
    "variant_get(v, '$.n', 'int') > 100": 0,
    # what the bounds don't tell
    "variant_get(v, '$.x', 'double') > 35": 4,
    "variant_get(v, '$.o.p', 'int') = 5": 4,
    "variant_get(v, '$.n', 'string') = '5'": 4,
    "variant_get(v, '$.N', 'int') = 5": 4,
    "variant_get(v, '$.n', 'int') is null": 4,
    "variant_get(v, '$.n', 'int') + 1 = 6": 4,
}


@pytest.mark.parametrize("condition", PRUNING)
def test_a_condition_chooses_files_of_frames_and_of_queries(
    spark: SparkSession, table: Table, frame: Any, condition: str
) -> None:
    expected = sorted(
        row.id for row in table.scan().to_df(spark).selectExpr("id", f"{condition} c").collect()
        if row.c
    )  # fmt: skip
    found = frame.where(condition)
    query = ice.sql(spark, f"select * from `{table.location()}` where {condition}")
    for one in (found, query):
        assert sorted(row.id for row in one.select("id").collect()) == expected
        assert len(one.inputFiles()) == PRUNING[condition]
    alone = frame.select("v").where(condition)
    assert alone.count() == len(expected)
    assert len(alone.inputFiles()) == PRUNING[condition]


def test_the_short_form_chooses_files_too(spark: SparkSession, frame: Any) -> None:
    found = frame.where("v:n::int = 25")
    assert (found.count(), len(found.inputFiles())) == (1, 1)
    joined = frame.alias("a").join(frame.alias("b"), "id").where("a.v:n::int < 5 and b.id >= 0")
    assert joined.count() == 5


def test_explain_names_what_prunes_a_query(spark: SparkSession, table: Table) -> None:
    place = f"`{table.location()}`"
    told = ice.explain(spark, f"select 1 from {place} where variant_get(v, '$.n', 'int') = 25")
    assert "pruned by  VARIANT_GET(v, '$.n', 'int') = 25" in told
    assert "1 of 4 to read" in told
    told = ice.explain(spark, f"select 1 from {place} where variant_get(v, '$[0]', 'int') = 25")
    assert "prunes nothing  VARIANT_GET(v, '$[0]', 'int') = 25" in told
    assert "4 of 4 to read" in told


def test_an_enabled_sessions_settings_are_heeded(spark: SparkSession, frame: Any) -> None:
    """Where Spark reads whole variants, and without ANSI mode."""
    settings = {
        "spark.sql.variant.pushVariantIntoScan": "false",
        "spark.sql.ansi.enabled": "false",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        found = frame.where("variant_get(v, '$.n', 'int') = 25")
        assert (found.count(), len(found.inputFiles())) == (1, 1)
    finally:
        for name, kept in before.items():
            spark.conf.set(name, str(kept))


CHANGES: dict[str, Callable[[Table, SparkSession], object]] = {
    "delete": lambda table, _: table.delete("variant_get(v, '$.n', 'int') = 25"),
    "update": lambda table, _: table.update(
        {"v": "parse_json('7')"}, where="try_variant_get(v, '$.n', 'int') = 25"
    ),
    "merge": lambda table, spark: (
        table.merge(
            spark.sql("select 25L k"), "variant_get(t.v, '$.n', 'bigint') < 26 and t.id = s.k"
        )
        .when_matched_delete()
        .execute()
    ),
    "merge that inserts": lambda table, spark: (
        table.merge(
            spark.sql("select 25L id, parse_json('1') v"),
            "variant_get(t.v, '$.n', 'int') = 25 and t.id = s.id",
        )
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    ),
    "SQL": lambda table, spark: ice.sql(
        spark, f"delete from `{table.location()}` where variant_get(v, '$.n', 'int') = 25"
    ),
}


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_opens_the_files_that_may_match_and_no_others(
    spark: SparkSession, tmp_path: Path, mode: str, change: str
) -> None:
    """The other files' data is taken away for that time."""
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    table = make(spark, tmp_path / "t", **modes)
    hidden = []
    for row in table.inspect.files().to_pylist():
        if row["readable_metrics"]["id"]["lower_bound"] != 20:
            file = Path(row["file_path"].removeprefix("file:"))
            hidden.append(file.rename(file.with_suffix(".away")))
    CHANGES[change](table, spark)
    for file in hidden:
        file.rename(file.with_suffix(".parquet"))
    left = {row.id: row.v for row in table.refresh().scan().to_df(spark).collect()}
    if change in ("delete", "merge", "SQL"):
        assert sorted(left) == [number for number in range(40) if number != 25]
    else:
        assert sorted(left) == list(range(40))
        assert left[25].toPython() == (7 if change == "update" else 1)


def test_no_file_is_dropped_because_all_of_its_values_match(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Bounds of a field say nothing of rows that lack it."""
    table = ice.create_table(str(tmp_path / "t"), "id bigint, v variant", properties=SHREDDED)
    rows = spark.sql(
        "select id, parse_json(if(id < 5, '{\"n\": 1}', '{\"m\": 1}')) v from range(10)"
    )
    table.append(rows.coalesce(1))
    table.refresh().delete("variant_get(v, '$.n', 'int') >= 1")
    assert sorted(row.id for row in table.refresh().scan().to_df(spark).collect()) == [
        5,
        6,
        7,
        8,
        9,
    ]


def test_a_merge_that_deletes_what_no_source_row_matches_reaches_all_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = make(spark, tmp_path / "t")
    source = spark.sql("select 25L id")
    merge = table.merge(source, "variant_get(t.v, '$.n', 'int') = 25 and t.id = s.id")
    merge.when_not_matched_by_source_delete().execute()
    assert [row.id for row in table.refresh().scan().to_df(spark).collect()] == [25]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_conditions_find_the_same_rows_with_and_without_pruning(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    table = ice.create_table(str(tmp_path / "t"), "id bigint, v variant", properties=SHREDDED)
    for number in range(5):
        table.append(rows_of_file(spark, rng, number * ROWS).coalesce(1))
        table.refresh()
    conditions = [random_condition(rng) for _ in range(60)]
    expected = matching_ids(table.scan().to_df(spark), conditions)
    context = scan_context(table.metadata, ScanRequest(), table.io)
    shown = []
    for condition, ids in zip(conditions, expected, strict=True):
        predicates = variant_conjuncts(condition)
        wanted = variant_filter(table.schema(), predicates, time_zone="UTC")
        pruned = plan(table.metadata, table.io, context, pruned_by=wanted)
        kept = pruned.files.column("file_path").to_pylist()
        needed = {number // ROWS for number in ids}
        assert needed <= {number_of(table, path) for path in kept}, condition
        if 0 < len(kept) < 5:
            shown.append((condition, ids, pruned))
    assert len(shown) > 5
    ice.enable(spark)
    try:
        whole = spark.read.format("pyiceberg-lite").load(table.location())
        for condition, ids, pruned in shown[:6]:
            frames = [plan_frame(pruned, spark, engine=e) for e in ("native", "arrow")]
            for one in (*frames, whole):
                found = one.where(condition)
                assert sorted(row.id for row in found.select("id").collect()) == sorted(ids)
    finally:
        ice.disable(spark)


def number_of(table: Table, path: str) -> int:
    """The place of a file among those of its table, by its ids."""
    (row,) = (row for row in table.inspect.files().to_pylist() if row["file_path"] == path)
    least: int = row["readable_metrics"]["id"]["lower_bound"]
    return least // ROWS
