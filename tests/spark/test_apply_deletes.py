"""Deletes applied to Spark's own relations give the rows that the Arrow scan gives."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what every PySpark program calls it

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.catalyst.planned_relations import gives_file_values
from iceberg_spark.spark.deletes import apply_deletes as live_rows_module
from iceberg_spark.spark.deletes import apply_deletes as loaded_deletes_module
from iceberg_spark.spark.deletes import files_with_deletes as dirty_files_module
from iceberg_spark.spark.deletes import per_file_values as per_file_values_module
from iceberg_spark.spark.deletes import position_bitmaps as position_words_module
from iceberg_spark.spark.deletes.apply_deletes import (
    BITS,
    FIRST_WORD,
    LoadedDeletes,
    apply_deletes,
    key_name,
    load_deletes,
)
from iceberg_spark.spark.deletes.files_with_deletes import DeleteGroup, find_files_with_deletes
from iceberg_spark.spark.deletes.per_file_values import ROW_INDEX, ROW_INDEX_FIELD, with_file_values
from iceberg_spark.spark.reading.parquet_files import RelationFiles, files_relation, mark_of
from tests.limits import set_limits
from tests.spark.delete_commits import delete_keys, delete_positions

SCHEMA = "id bigint, k int, s string, b binary, d decimal(9, 2), day date, ts timestamp"


def make(path: Path, parts: Sequence[range], schema: str = SCHEMA, **rest: Any) -> Table:
    """A table with one data file for each range of ids (in a partition)."""
    properties = {"commit.retry.min-wait-ms": "1"}
    table = ice.create_table(str(path), schema, properties=properties, **rest)
    for part in parts:
        table.append(rows_of(part).select(table.schema().column_names))
    return table


def rows_of(part: range) -> pa.Table:
    ids = pa.array(part, pa.int64())
    odd = [None if i % 5 == 0 else i % 7 for i in part]
    return pa.table(
        {
            "id": ids,
            "k": pa.array(odd, pa.int32()),
            "s": pa.array([None if i % 11 == 0 else f"s{i % 13}" for i in part]),
            "b": pa.array([bytes([i % 251]) for i in part]),
            "d": ids.cast(pa.decimal128(19, 0))
            .cast(pa.decimal128(21, 2))
            .cast(pa.decimal128(9, 2)),
            "day": pa.array([i % 400 for i in part], pa.int32()).cast(pa.date32()),
            "ts": pa.array([i * 1000 for i in part], pa.timestamp("us", "UTC")),
        }
    )


def native(
    table: Table, spark: SparkSession, deleted: bool = False, *, values: bool = False
) -> tuple[list, list[DataFrame]]:
    """The rows by the relations of the files with deletes and by plain ones of the others.

    With `values` a relation has what differs from file to file as columns, else it is joined.
    """
    plan = table.scan(metadata_columns=("_deleted",) if deleted else ()).plan_files()
    counts = np.array([len(task.delete_files) for task in plan])
    chosen = np.arange(len(plan)) if values else np.flatnonzero(counts)
    groups = find_files_with_deletes(plan, chosen, has_file_values=values)
    assert not groups.refused
    names = table.schema().column_names
    shown = [*names, "_deleted"] if deleted else names
    given = [live_frame(group, plan, table, spark, values) for group in groups.groups]
    frames = [frame.select(*shown) for frame in given]
    rows = [tuple(row) for frame in frames for row in frame.collect()]
    clean = plan.files.column("file_path").filter(pa.array(counts == 0)).to_pylist()
    if clean and not values:
        relation = spark.read.schema(to_spark(table.schema())).parquet(*clean).select(*names)
        if deleted:
            relation = relation.withColumn("_deleted", F.lit(False))
        rows += [tuple(row) for row in relation.collect()]
    return rows, frames


def live_frame(
    group: DeleteGroup, plan: ScanPlan, table: Table, spark: SparkSession, values: bool
) -> DataFrame:
    files = plan.files.take(pa.array(group.rows))
    loaded = load_deletes(group, plan, table.io, padded=not values)
    kind = to_spark(table.schema()).add(ROW_INDEX_FIELD)
    paths = [f"file:{path}" for path in files.column("file_path").to_pylist()]
    if values:
        sizes = files.column("file_size_in_bytes").to_pylist()
        given = RelationFiles(paths, sizes, files["record_count"].to_pylist(), loaded.values)
        relation = files_relation(spark, kind, given, mark_of(kind, given))
    else:
        relation = spark.read.schema(kind).parquet(*paths)
        if loaded.values:
            relation = with_values(relation, group, plan, loaded)
    keys = {key_name(leaf.field_id): F.col(leaf.field.name) for leaf in group.keys}
    return apply_deletes(relation, keys, loaded, plan, table.io)


def with_values(
    relation: DataFrame, group: DeleteGroup, plan: ScanPlan, loaded: LoadedDeletes
) -> DataFrame:
    files = plan.files.take(pa.array(group.rows))
    return with_file_values(relation, {}, group.file_key, files, pa.table(dict(loaded.values)))


def check(table: Table, spark: SparkSession) -> list[DataFrame]:
    """Native rows equal the Arrow scan's, with and without deleted ones."""
    expected = sorted(map(tuple, table.scan().to_df(spark).collect()), key=repr)
    marked = table.scan(metadata_columns=("_deleted",)).to_df(spark).collect()
    assert any(row["_deleted"] for row in marked)
    with_deleted = sorted(map(tuple, marked), key=repr)
    for values in {gives_file_values(spark), False}:
        rows, frames = native(table, spark, values=values)
        assert sorted(rows, key=repr) == expected
        rows, _ = native(table, spark, deleted=True, values=values)
        assert sorted(rows, key=repr) == with_deleted
    return frames


def plan_of(frame: DataFrame) -> str:
    return frame._jdf.queryExecution().explainString(
        frame._sc._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    )


def test_positions_are_deleted_in_their_file_only(
    any_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an expression over the bits of few files, by a join with those of many."""
    table = make(tmp_path / "t", [range(100), range(100, 250), range(250, 260)])
    first, second, _ = table.scan().plan_files()
    delete_positions(table, [(first, [0, 63, 64, 99]), (second, [1])], "partition")
    delete_positions(table, [(second, [1, 149])])
    check(table, any_spark)
    set_limits(monkeypatch, per_file_values_module, "POSITIONS", few_files=1)
    check(table, any_spark)
    set_limits(monkeypatch, loaded_deletes_module, "POSITIONS", few_bytes=0)
    check(table, any_spark)


def test_bits_of_files_are_joined_with_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "t", [range(100), range(100, 250), range(250, 260)], "id bigint")
    first, second, _ = table.scan().plan_files()
    delete_positions(table, [(first, [0]), (second, [1, 149])])
    check(table, spark)  # the second file's bits are none of the first one's row 65
    for values in (True, False):
        _, (frame,) = native(table, spark, values=values)
        assert "Join" not in plan_of(frame) and "getbit" in plan_of(frame)
        assert ("file_size" in plan_of(frame)) is not values
    set_limits(monkeypatch, loaded_deletes_module, "POSITIONS", few_bytes=0)
    _, (frame,) = native(table, spark, values=True)
    assert "BroadcastHashJoin" in plan_of(frame)


def test_bits_are_made_once_for_the_same_delete_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "t", [range(100)], "id bigint")
    (task,) = table.scan().plan_files()
    made = []
    origin = position_words_module.deleted_positions
    monkeypatch.setattr(
        position_words_module, "deleted_positions", lambda *a: made.append(1) or origin(*a)
    )
    for position, count in ((0, 1), (7, 2)):
        delete_positions(table, [(task, [position])])
        check(table, spark)
        check(table, spark)
        assert len(made) == count


def test_positions_that_a_file_does_not_have_take_no_bits(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = make(tmp_path / "t", [range(100)], "id bigint")
    (task,) = table.scan().plan_files()
    delete_positions(table, [(task, [7, 100, 2**40])])
    check(table, spark)
    assert table.scan().to_df(spark).count() == 99


def test_code_that_tells_many_files_apart_is_short_enough_to_be_compiled(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The JVM interprets methods of more than 8,000 bytes for ever; short ones it compiles best."""
    few = per_file_values_module.POSITIONS.few_files
    parts = [range(100 * i, 100 * i + 50 + i) for i in range(few)]
    table = make(tmp_path / "t", parts)
    delete_positions(
        table, [(task, [1, 3 + i]) for i, task in enumerate(table.scan().plan_files())]
    )
    check(table, spark)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        for values in (True, False):
            _, (frame,) = native(table, spark, values=values)
            frame.explain("codegen")
            assert "Join" not in plan_of(frame)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    sizes = [int(size) for size in re.findall(r"maxMethodCodeSize:(\d+)", capsys.readouterr().out)]
    assert len(sizes) == 2 and max(sizes) < 2500


@pytest.mark.parametrize("folder", ["with blank", "per%20cent", "über", "a+b&c=d;e,f'g"])
def test_files_of_equal_size_are_distinguished_by_path(
    spark: SparkSession, tmp_path: Path, folder: str
) -> None:
    """`_metadata.file_path` is percent-encoded; delete files hold what their writer wrote."""
    table = make(tmp_path / folder, [range(10)] * 3, "id bigint")
    tasks = list(table.scan().plan_files())
    assert len({task.file_size_in_bytes for task in tasks}) == 1
    delete_positions(table, [(task, [at]) for at, task in enumerate(tasks)])
    plan = table.scan().plan_files()
    (group,) = find_files_with_deletes(plan, np.arange(3)).groups
    assert group.file_key == "file_path"
    check(table, spark)
    assert len(native(table, spark)[0]) == 27


@pytest.mark.parametrize(
    "keys",
    [
        [{"id": 3}, {"id": 199}, {"id": 10**12}, {"id": -5}],
        [{"k": 3}, {"k": None}],
        [{"s": "s3"}, {"s": None}],
        [{"b": bytes([7])}],
        [{"d": 3}, {"d": 150}],
        [{"k": None, "s": "s3"}, {"k": 2, "s": None}, {"k": 3, "s": "s3"}],
        [{"id": i, "k": i % 7} for i in range(50)],
    ],
    ids=lambda keys: "-".join(keys[0]),
)
def test_keys_are_deleted(spark: SparkSession, tmp_path: Path, keys: list) -> None:
    table = make(tmp_path / "t", [range(100), range(100, 250)])
    delete_keys(table, keys)
    check(table, spark)


def test_keys_of_every_join_are_deleted(
    any_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read by tasks and sent to all, or shuffled, instead of travelling with the plan."""
    table = make(tmp_path / "t", [range(100), range(100, 250)])
    delete_keys(table, [{"s": "s3"}, {"s": None}])
    delete_keys(table, [{"id": 1, "k": 1}, {"id": 8, "k": 1}])
    set_limits(monkeypatch, live_rows_module, "KEYS", local_keys=0)
    check(table, any_spark)
    set_limits(monkeypatch, live_rows_module, "KEYS", broadcast_bytes=0)
    check(table, any_spark)


def test_a_large_set_of_keys_is_joined_by_sorting_which_spills(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "t", [range(100)])
    delete_keys(table, [{"s": f"s{i}"} for i in range(5)])
    set_limits(monkeypatch, live_rows_module, "KEYS", local_keys=0)
    _, (frame,) = native(table, spark)
    assert "BroadcastHashJoin" in plan_of(frame)
    set_limits(monkeypatch, live_rows_module, "KEYS", broadcast_bytes=0)
    _, (frame,) = native(table, spark)
    assert "SortMergeJoin" in plan_of(frame) and "Broadcast" not in plan_of(frame)


@pytest.mark.parametrize("local", [20_000, 0])
def test_an_equality_delete_spares_younger_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: int
) -> None:
    set_limits(monkeypatch, live_rows_module, "KEYS", local_keys=local)
    table = make(tmp_path / "t", [range(60)])
    delete_keys(table, [{"k": 3}, {"k": None}])
    table.append(rows_of(range(60, 130)))
    delete_keys(table, [{"k": 4}, {"k": 3}])
    table.append(rows_of(range(30, 100)))
    delete_keys(table, [{"k": 4}, {"k": None}])
    table.append(rows_of(range(130, 140)))
    delete_keys(table, [{"k": 0, "s": "s0"}])
    delete_positions(table, [(table.scan().plan_files()[0], [0, 3])])
    check(table, spark)


@pytest.mark.parametrize("local", [20_000, 0])
def test_a_delete_holds_in_its_partition_and_a_global_one_everywhere(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: int
) -> None:
    set_limits(monkeypatch, live_rows_module, "KEYS", local_keys=local)
    table = make(tmp_path / "t", [range(200)], partition_by=["bucket(3, id)"])
    parts = [task.partition for task in table.scan().plan_files()]
    delete_keys(table, [{"s": "s3"}, {"s": "s4"}], at=parts[0])
    delete_keys(table, [{"s": "s4"}, {"s": None}], at=parts[1])
    check(table, spark)
    with table.update_spec() as update:
        update.remove_field("id_bucket")
    table.refresh()
    delete_keys(table, [{"s": "s5"}])
    table.append(rows_of(range(200, 220)))
    check(table, spark)


@pytest.mark.parametrize("few", [16, 0])
def test_a_row_of_an_unknown_file_raises(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """A file whose size is not the manifest's can't be told: nothing is guessed."""
    set_limits(monkeypatch, per_file_values_module, "POSITIONS", few_files=few)
    table = make(tmp_path / "t", [range(10), range(10, 35)], "id bigint")
    first, second = table.scan().plan_files()
    delete_positions(table, [(first, [0]), (second, [1])])
    plan = table.scan().plan_files()
    (group,) = find_files_with_deletes(plan, np.arange(2)).groups
    assert group.file_key == "file_size"
    other = make(tmp_path / "u", [range(100, 177)], "id bigint").scan().plan_files()[0].file_path
    relation = spark.read.schema(f"id bigint, {ROW_INDEX} bigint").parquet(first.file_path, other)
    loaded = load_deletes(group, plan, table.io)
    relation = with_values(relation, group, plan, loaded)
    with pytest.raises(Exception, match="cannot be told"):
        apply_deletes(relation, {}, loaded, plan, table.io).collect()


def test_too_many_positions_are_left_to_the_arrow_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "t", [range(10), range(10, 35)], "id bigint")
    first = table.scan().plan_files()[0]
    delete_positions(table, [(first, [0, 1, 2])])
    plan = table.scan().plan_files()
    set_limits(monkeypatch, dirty_files_module, "POSITIONS", deletes=2)
    assert find_files_with_deletes(plan, np.array([0])).refused == {
        0: "3 position deletes, which tasks read quicker than the driver"
    }
    set_limits(monkeypatch, dirty_files_module, "POSITIONS", deletes=3)
    set_limits(monkeypatch, dirty_files_module, "POSITIONS", bitmap_bytes=0)
    assert "bitmaps" in find_files_with_deletes(plan, np.array([0])).refused[0]


def test_filters_on_top_reach_the_files(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", [range(100)])
    delete_positions(table, [(table.scan().plan_files()[0], [4])])
    _, (frame,) = native(table, spark)
    assert "PushedFilters: [IsNotNull(id), EqualTo(id,7)]" in plan_of(frame.where("id = 7"))


@pytest.mark.parametrize("values", [True, False])
def test_a_spark_that_gives_no_places_of_rows_raises(
    spark: SparkSession, tmp_path: Path, values: bool
) -> None:
    table = make(tmp_path / "t", [range(10)], "id bigint")
    (only,) = table.scan().plan_files()
    delete_positions(table, [(only, [0])])
    plan = table.scan().plan_files()
    (group,) = find_files_with_deletes(plan, np.arange(1)).groups
    loaded = load_deletes(group, plan, table.io)
    relation = spark.read.schema(f"id bigint, {ROW_INDEX} bigint").parquet(only.file_path)
    if values:
        relation = relation.selectExpr("*", f"64L {BITS}", f"0 {FIRST_WORD}")
    else:
        relation = with_values(relation, group, plan, loaded)
    relation = relation.withColumn(ROW_INDEX, F.lit(None).cast("bigint"))
    with pytest.raises(Exception, match="gives no row_index"):
        apply_deletes(relation, {}, loaded, plan, table.io).collect()


@pytest.mark.parametrize("pruning", ["true", "false"])
def test_places_of_rows_are_read_whatever_else_a_query_leaves_out(
    any_spark: SparkSession, tmp_path: Path, pruning: str
) -> None:
    table = make(tmp_path / "t", [range(10), range(10, 30)], "id bigint")
    one, other = table.scan().plan_files()
    delete_positions(table, [(one, [1, 2]), (other, [3])])
    table.append(pa.table({"id": [30, 31]}))
    setting = "spark.sql.optimizer.nestedSchemaPruning.enabled"
    any_spark.conf.set(setting, pruning)
    try:
        scan = table.scan(metadata_columns=("_file", "_pos", "_deleted"))
        frame, expected = scan.to_df(any_spark), scan.to_arrow().select(["id", "_pos", "_deleted"])
        for shown in (["id", "_pos"], ["_pos"], ["id"], ["_deleted", "id"], ["_file", "_pos"]):
            known = [name for name in shown if name != "_file"]
            found = frame.select(*shown).select(*known).collect()
            wanted = zip(*expected.select(known).to_pydict().values(), strict=True)
            assert sorted(map(tuple, found)) == sorted(wanted), shown
        assert table.scan().to_df(any_spark).count() == 29
        assert len(table.scan().to_df(any_spark).where("id >= 0").collect()) == 29
    finally:
        any_spark.conf.unset(setting)
