"""The native engine reads what the Arrow engine reads, with nothing of Python in the plan."""

import io
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.catalyst.planned_relations import gives_file_values
from iceberg_spark.spark.reading import parquet_files as files_module
from iceberg_spark.spark.reading.plan_frame import (
    FIELD_IDS,
    LISTING_THRESHOLD,
    ON_THE_DRIVER,
    plan_frame,
)
from iceberg_spark.spec.schema import Schema
from tests.builders import field
from tests.limits import set_limits
from tests.spark.delete_commits import delete_keys, delete_positions
from tests.spark.hostile_settings import settings
from tests.spark.native_tables import METADATA_COLUMNS, every_type_table, evolve, rows


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return every_type_table(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = every_type_table(tmp_path_factory.mktemp("evolved"))
    evolve(table)
    table.append(pa.table({"id": [100], "b": [7], "s": pa.array([8], pa.int32())}))
    return table


def assert_same(spark: Any, table: Table, *expressions: str, **scan: Any) -> Any:
    """Both engines give the same type and rows; returns the native frame."""
    chosen = table.scan(**scan)
    native = chosen.to_df(spark, engine="native")
    arrow = chosen.to_df(spark, engine="arrow")
    assert native.schema == arrow.schema
    shown = (lambda frame: frame.selectExpr(*expressions)) if expressions else (lambda frame: frame)
    assert rows(shown(native)) == rows(shown(arrow))
    return native


def explained(frame: Any) -> str:
    text = io.StringIO()
    with redirect_stdout(text):
        frame.explain(True)
    return text.getvalue()


def test_every_type_and_metadata_column_reads_the_same(any_spark: Any, plain: Table) -> None:
    frame = assert_same(any_spark, plain, metadata_columns=METADATA_COLUMNS)
    assert frame.count() == 12


FILTERS = (
    "f > 1", "d > 100", "not (f < 1)", "st.f > 3", "st.a > 3", "dec = 0.03", "dt >= '1970-01-02'",
    "ts > '1969-12-31 23:59:58.5'", "tz <= '1969-12-31 23:59:58.5+00:00'", "s like 's1%'",
    "s not like 's1%'", "b = X'31'", "fx = X'30303033'",
    "u = '00000000-0000-0000-0000-000000000003'", "bo", "i = 1", "id in (1, 2, 30)",
    "isnan(f)", "not isnan(f)", "s is null", "st.a is null", "f = 'NaN'", "d in (0.5, 'NaN')",
    "d != 0.5", "i = 1 or d > 100", "plain.p > 3 and plain.q is not null",
)  # fmt: skip


def test_a_scans_filter_keeps_the_same_rows(spark: Any, plain: Table) -> None:
    for predicate in FILTERS:
        scan = plain.scan(row_filter=predicate, selected_fields=("id",))
        native = sorted(row.id for row in scan.to_df(spark, engine="native").collect())
        assert native == sorted(scan.to_arrow()["id"].to_pylist()), predicate


def test_statistics_skip_no_nan_inside_a_struct(any_spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, st struct<f double>")
    table.append(pa.table({"id": [1, 2], "st": [{"f": float("nan")}, {"f": 1.0}]}))
    assert [row.id for row in table.scan().to_df(any_spark).where("st.f > 3").collect()] == [1]
    assert [row.id for row in table.scan("st.f > 3").to_df(any_spark).collect()] == [1]


def test_later_filters_and_projections_keep_the_same_rows(any_spark: Any, evolved: Table) -> None:
    native = evolved.scan().to_df(any_spark)
    arrow = evolved.scan().to_df(any_spark, engine="arrow").cache()
    for condition in (
        "f > 1", "not (d < 0)", "b is null", "s is null", "st.f is null", "st.a9 > 3", "k = 1",
        "plain.r is null", "plain.q > 'q3'", "get(l.w, 0) < 0", "m['k'].yy > 3", "text is not null",
    ):  # fmt: skip
        found = rows(native.where(condition).select("id"))
        assert found == rows(arrow.where(condition).select("id")), condition
    nested = ("st.a9", "l.v", "transform(l, x -> x.w)", "m['k'].yy", "plain.r", "plain.q", "st.f")
    shown = [f"{each} as c{at}" for at, each in enumerate(nested)]
    assert rows(native.selectExpr(*shown)) == rows(arrow.selectExpr(*shown))
    arrow.unpersist()


def test_an_evolved_table_reads_the_same_and_is_native_in_a_classic_session(
    spark: Any, evolved: Table
) -> None:
    assert_same(spark, evolved, metadata_columns=METADATA_COLUMNS)
    for predicate in ("b is null", "s is null", "text like 's%'", "st.f is null", "k = 1"):
        assert_same(spark, evolved, "id", row_filter=predicate)


def test_a_clean_scan_has_no_python_and_prunes_and_pushes_as_spark_does(
    any_spark: Any, plain: Table
) -> None:
    frame = plain.scan(row_filter="s like 's1%'").to_df(any_spark)
    plan = explained(frame.where("id > 5").select("s", "plain.q"))
    physical = plan[plan.index("== Physical Plan ==") :]
    assert "Python" not in physical and "MapInArrow" not in physical and "Union" not in physical
    assert "ReadSchema: struct<id:bigint,s:string,plain:struct<q:string>>" in physical
    assert "StringStartsWith(s,s1)" in physical and "GreaterThan(id,5)" in physical


def test_a_clean_table_is_read_natively_without_being_asked(any_spark: Any, plain: Table) -> None:
    assert "MapInArrow" not in explained(plain.scan().to_df(any_spark))
    assert "native by field id" in plain.scan().explain()


def test_only_dirty_files_pay(any_spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint", properties={"write.delete.mode": "merge-on-read"}
    )
    for start in (0, 10):
        table.append(pa.table({"id": range(start, start + 10)}))
    table.delete("id = 3")
    frame = table.scan().to_df(any_spark)
    assert sorted(row.id for row in frame.collect()) == [i for i in range(20) if i != 3]
    physical = explained(table.scan().to_df(any_spark)).split("== Physical Plan ==")[1]
    filters = [line for line in physical.splitlines() if "- Filter" in line]
    assert "MapInArrow" not in physical and len(filters) == 1 and "getbit" in filters[0]
    scans = physical.split("FileScan parquet")[1:]
    if gives_file_values(any_spark):  # a clean file has no bits: quicker than to unite relations
        assert len(scans) == 1 and "(2 paths)" in scans[0] and "Union" not in physical
    else:
        assert len(scans) == 2 and all("(1 paths)" in scan for scan in scans)
    assert "native by field id, with position deletes" in table.scan().explain()


def test_a_frame_with_deletes_leaves_the_active_session_as_it_is(
    spark: Any, tmp_path: Path
) -> None:
    spark.createDataFrame([(1,)], "id int")  # makes its session the active one
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint", properties={"write.delete.mode": "merge-on-read"}
    )
    table.append(pa.table({"id": range(10)}))
    table.delete("id = 3")
    assert table.scan().to_df(spark).count() == 9
    assert type(spark).active() is spark
    active = type(spark)._get_j_spark_session_class(spark._jvm).getActiveSession().get()
    assert active.equals(spark._jsparkSession)


HOSTILE = {
    FIELD_IDS: "false",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.int96TimestampConversion": "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.sources.useV1SourceList": "",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    "spark.sql.files.maxPartitionBytes": "1000",
    "spark.sql.ansi.enabled": "false",
}


PARSER = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
}


def test_settings_made_before_or_after_a_frame_change_nothing(spark: Any, evolved: Table) -> None:
    expected = rows(evolved.scan().to_df(spark, engine="arrow"))
    before = evolved.scan().to_df(spark, engine="native")
    with settings(spark, HOSTILE | PARSER):
        assert rows(before) == expected
        assert rows(before.select("*").where("id >= 0")) == expected
        assert rows(evolved.scan().to_df(spark, engine="native")) == expected
        assert spark.conf.get(FIELD_IDS) == "false"


def test_deletes_hold_whatever_the_session_says(any_spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, k string")
    table.append(pa.table({"id": range(10), "k": [f"k{i}" for i in range(10)]}))
    delete_positions(table, [(table.scan().plan_files()[0], [2, 7])])
    delete_keys(table, [{"k": "k4"}, {"k": None}])
    before = table.scan().to_df(any_spark)
    live = [0, 1, 3, 5, 6, 8, 9]
    with settings(any_spark, HOSTILE | PARSER):
        assert sorted(row.id for row in table.scan().to_df(any_spark).collect()) == live
        # Over Connect the frame is resolved anew, with Parquet as a V2 source.
        assert sorted(row.id for row in before.collect()) == live


def test_files_are_listed_once_and_frames_of_them_can_be_joined(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, k string")
    table.append(pa.table({"id": range(5), "k": list("abcde")}))
    first = table.scan().to_df(spark)
    listed = files_module._cached_relation.cache_info().misses
    second = table.scan().to_df(spark)
    assert files_module._cached_relation.cache_info().misses == listed
    pairs = first.join(second, first.id == second.id + 1).select(first.k, second.k).collect()
    assert sorted(map(tuple, pairs)) == [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d")]


def test_a_file_that_is_added_again_under_its_name_is_listed_again(
    spark: Any, tmp_path: Path
) -> None:
    table, path = ice.create_table(str(tmp_path / "t"), "id bigint"), tmp_path / "own.parquet"
    for count in (5, 50_000):
        pq.write_table(pa.table({"id": range(count)}), path, row_group_size=1_000)
        table.delete("true")
        table.add_files([str(path)])
        assert table.scan().to_df(spark, engine="native").where("id >= 0").count() == count


@pytest.mark.parametrize("own", ["", ", _metadata struct<file_size: bigint>"])
def test_files_are_distinguished_whatever_else_a_row_has(
    any_spark: Any, tmp_path: Path, own: str
) -> None:
    """Of `_metadata` Spark may read no `row_index`, and it may be a column of the table too."""
    ddl = f"id bigint, st struct<k: bigint, y: double>{own}"
    table = ice.create_table(str(tmp_path / "t"), ddl)
    for numbers in (range(10), range(10, 35)):
        structs = {
            "st": [{"k": n, "y": 0.5} for n in numbers],
            "_metadata": [{"file_size": 5}] * len(numbers),
        }
        given = pa.table({"id": numbers, **structs})
        table.append(given if own else given.drop_columns("_metadata"))
    delete_positions(table, [(task, [1, 3]) for task in table.scan().plan_files()])
    delete_keys(table, [{"id": 5}])
    delete_keys(table, [{"st.k": 7}])
    assert len(rows(assert_same(any_spark, table))) == 29
    with settings(any_spark, {"spark.sql.optimizer.nestedSchemaPruning.enabled": "false"}):
        assert_same(any_spark, table, metadata_columns=METADATA_COLUMNS)


def test_over_connect_turning_ids_off_leaves_frames_right(
    connect_spark: Any, plain: Table, evolved: Table
) -> None:
    expected = rows(plain.scan().to_df(connect_spark, engine="arrow"))
    frame = plain.scan().to_df(connect_spark, engine="native")
    with pytest.raises(UnsupportedError, match="renamed column"):
        evolved.scan().to_df(connect_spark, engine="native")
    mixed = evolved.scan().to_df(connect_spark)
    of_mixed = rows(evolved.scan().to_df(connect_spark, engine="arrow"))
    with settings(connect_spark, {FIELD_IDS: "false"}):
        assert rows(frame) == expected
        assert rows(mixed) == of_mixed


def test_over_connect_files_are_listed_by_the_driver_at_every_action(
    connect_spark: Any, plain: Table
) -> None:
    """A Connect plan is resolved, and its files listed, anew: the setting has to stay."""
    frame = plain.scan().to_df(connect_spark, engine="native")
    assert connect_spark.conf.get(LISTING_THRESHOLD) == ON_THE_DRIVER
    assert frame.select("id").count() == 12


def test_over_connect_settings_that_spoil_reading_send_files_to_arrow(
    connect_spark: Any, plain: Table
) -> None:
    with settings(connect_spark, {"spark.sql.parquet.int96TimestampConversion": "true"}):
        with pytest.raises(UnsupportedError, match="int96TimestampConversion=true"):
            plain.scan().to_df(connect_spark, engine="native")
        assert plain.scan().to_df(connect_spark).select("id").count() == 12


@pytest.fixture
def two_files(tmp_path: Path) -> Table:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, k string")
    for start in (0, 10):
        table.append(pa.table({"id": range(start, start + 10), "k": ["x"] * 10}))
    return table


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.write_bytes(b"x" * 500), r"(?i)not a parquet file|corrupt|malformed"),
        (lambda path: path.unlink(), r"(?i)not exist|no such file"),
    ],
    ids=["damaged", "missing"],
)
def test_a_damaged_or_missing_file_is_an_error_whatever_the_session_says(
    any_spark: Any, two_files: Table, damage: Callable[[Path], None], told: str
) -> None:
    with settings(any_spark, HOSTILE):
        frame = two_files.scan().to_df(any_spark)
        damage(Path(two_files.scan().plan_files()[0].file_path.removeprefix("file:")))
        with pytest.raises(Exception, match=told):
            frame.collect()


def test_a_file_without_ids_is_an_error_and_never_nulls(spark: Any, two_files: Table) -> None:
    path = Path(two_files.scan().plan_files()[0].file_path.removeprefix("file:"))
    pq.write_table(pa.table({"other": pa.array([1], pa.int64())}), path)
    with pytest.raises(Exception, match=r"(?i)field id"):
        two_files.scan().to_df(spark, engine="native").collect()


def test_a_column_that_took_anothers_name_is_not_skipped_by_its_statistics(
    spark: Any, two_files: Table
) -> None:
    with two_files.update_schema() as update:
        update.rename_column("id", "old")
    with two_files.update_schema() as update:
        update.add_column("id", "bigint")
    frame = two_files.scan().to_df(spark, engine="native")
    assert frame.where("id is null").count() == 20
    assert frame.where("coalesce(id, 0) = 0 and old > 4").count() == 15


DEFAULTS = (
    field(50, "bo", "boolean", initial_default=True),
    field(51, "i", "int", initial_default=-5),
    field(52, "l", "long", initial_default=1 << 40),
    field(53, "f", "float", initial_default=1.5),
    field(54, "d", "double", initial_default=float("nan")),
    field(55, "dec", "decimal(9, 2)", initial_default=Decimal("3.10")),
    field(56, "dt", "date", initial_default=-1),
    field(57, "ts", "timestamp", initial_default=-1),
    field(58, "tz", "timestamptz", initial_default=1_700_000_000_000_001),
    field(59, "s", "string", initial_default="it's \\ é"),
)


def test_defaults_of_top_level_columns_are_read_natively(any_spark: Any, two_files: Table) -> None:
    plan = two_files.scan(row_filter="id < 2").plan_files()
    wanted = Schema(*plan.context.read_schema.fields, *DEFAULTS)
    plan = replace(plan, context=replace(plan.context, table_schema=wanted, read_schema=wanted))
    native = plan_frame(plan, any_spark, engine="native")
    assert rows(native) == rows(plan_frame(plan, any_spark, engine="arrow"))
    assert native.where("s = 'it\\'s \\\\ é' and i = -5 and isnan(d)").count() == 2
    assert native.where("i is null").count() == 0


def test_files_in_several_specs_and_formats_are_one_frame(any_spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, k string", partition_by=["k"])
    table.append(pa.table({"id": [1, 2], "k": ["a", None]}))
    with table.update_spec() as update:
        update.add_field("bucket(4, id)")
    table.append(pa.table({"id": [3], "k": ["b/ %"]}))
    assert_same(any_spark, table, metadata_columns=METADATA_COLUMNS)
    table.update_properties().set({"write.format.default": "orc"}).commit()
    table.append(pa.table({"id": [4], "k": ["c"]}))
    scan = table.scan(metadata_columns=METADATA_COLUMNS)
    assert rows(scan.to_df(any_spark)) == rows(scan.to_df(any_spark, engine="arrow"))


def test_a_frame_that_knows_its_count_says_it_without_a_job(any_spark: Any, plain: Table) -> None:
    copy = plain.scan().to_df(any_spark)
    assert copy.count() == 12
    assert copy.where("id < 5").count() == 5
    assert copy.limit(3).count() == 3
    copy.cache()
    try:
        assert copy.count() == 12
    finally:
        copy.unpersist()


def test_a_known_count_needs_no_file(spark: Any, two_files: Table) -> None:
    frame = two_files.scan().to_df(spark)
    shutil.rmtree(Path(two_files.location().removeprefix("file:")) / "data")
    assert frame.count() == 20


def test_no_field_id_is_seen_in_a_frame(any_spark: Any, plain: Table) -> None:
    frame = plain.scan().to_df(any_spark)
    assert "parquet.field.id" not in frame.schema.json()
    assert frame.schema["id"].metadata == {"comment": "the key"}
    assert frame.schema["st"].dataType["a"].metadata == {"comment": "inner"}


def test_no_field_id_of_iceberg_is_written_to_a_users_file(
    any_spark: Any, two_files: Table, tmp_path: Path
) -> None:
    written = tmp_path / "written"
    two_files.scan().to_df(any_spark).where("id < 5").coalesce(1).write.parquet(str(written))
    (path,) = written.glob("*.parquet")
    assert all(not field.metadata for field in pq.read_schema(path))


def test_many_paths_are_handed_to_spark_at_once(
    spark: Any, two_files: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, files_module, "NATIVE", many_paths=1)
    assert sorted(row.id for row in two_files.scan().to_df(spark).collect()) == list(range(20))


def test_a_frame_belongs_to_the_users_session(spark: Any, plain: Table) -> None:
    frame = plain.scan().to_df(spark)
    assert frame.sparkSession is spark
    frame.createOrReplaceTempView("native_rows")
    assert spark.sql("select count(*) c from native_rows where id < 5").first().c == 5
    assert to_arrow(plain.schema()).names == frame.columns
