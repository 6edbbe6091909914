"""Frames written by Spark's own Parquet writer: the same table as the Arrow writer makes."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    UnsupportedError,
)
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spark.writing import write_by_spark as native_write
from iceberg_spark.spark.writing.write_engine import write_engine
from iceberg_spark.spark.writing.write_files import write_frame
from iceberg_spark.spark.writing.write_settings import (
    NO_SHUFFLE,
    WRITE_SETTINGS,
    shuffle_of,
    write_settings,
)
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.transforms import BucketTransform
from iceberg_spark.spec.types import LongType
from iceberg_spark.write.align_columns import AlignOptions
from iceberg_spark.write.describe_written import NotInFooterError, describer
from iceberg_spark.write.new_write import write_context
from tests.oracle import rows as samples
from tests.oracle.java_api import frame as frame_of

LONG = "x" * 300
TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
COLUMNS = [
    "id",
    "flag",
    "i",
    "f",
    "d",
    "dec9",
    "dec18",
    "dec38",
    "dt",
    "ts",
    "tsn",
    "s",
    "bin",
    "st",
]
DDL = samples.DDL.replace("\n", " ").partition(", li array")[0]


def made(folder: Path, name: str, ddl: str, **options: Any) -> Table:
    return ice.create_table(str(folder / name), ddl, **options)


def sample(spark: Any) -> DataFrame:
    """Twenty rows of every type that Spark's writer takes, in one task."""
    return frame_of(spark, samples.table(0, 20).select(COLUMNS)).coalesce(1)


def written(table: Table, frame: DataFrame, engine: Any, **options: Any) -> tuple[DataFile, ...]:
    """The files of a frame that no commit has taken yet."""
    return write_frame(
        frame, write_context(table.metadata), AlignOptions(), engine=engine, **options
    )


def partitions(files: tuple[DataFile, ...]) -> list[tuple[str, int]]:
    return sorted((repr(file.partition), file.record_count) for file in files)


def stored(table: Table) -> set[str]:
    root = Path(table.location()) / "data"
    return {str(path) for path in root.rglob("*") if path.is_file()}


def paths(table: Table) -> list[str]:
    return sorted(task.file_path for task in table.scan().plan_files())


@contextmanager
def setting(spark: Any, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name) if before is None else spark.conf.set(name, before)


def texts(spark: Any, values: list[Any], ddl: str) -> DataFrame:
    return spark.createDataFrame([(value,) for value in values], ddl)


def test_a_write_has_a_folder_of_its_own_with_nothing_but_its_files(
    any_spark: Any, tmp_path: Path
) -> None:
    table = made(tmp_path, "t", "id bigint, k string", partition_by=["k"])
    table.append(any_spark.range(10).selectExpr("id", "cast(id % 3 as string) k"), engine="native")
    table.append(any_spark.range(0).selectExpr("id", "'x' k"), engine="native")
    assert stored(table) == set(paths(table))
    assert {Path(path).parent.name for path in paths(table)} == {"k0=v30", "k0=v31", "k0=v32"}
    assert len({Path(path).parent.parent for path in paths(table)}) == 1
    names = pq.read_schema(paths(table)[0]).names
    assert names == ["id", "k"]


def test_partition_tuples_are_right_whatever_the_values(spark: Any, tmp_path: Path) -> None:
    nan = float("nan")
    cases: list[tuple[str, list[Any]]] = [
        (
            "string",
            [None, "", "null", "a/b", "50%", "k=v", "__HIVE_DEFAULT_PARTITION__", "x" * 300],
        ),
        ("double", [None, nan, 0.0, -0.0, 1.5]),
        ("float", [nan, -0.0, 0.0]),
        ("decimal(38, 10)", [None, Decimal("0.0000000001"), Decimal("-5.0000000000")]),
        ("binary", [None, b"", b"\x00", b"/"]),
        ("boolean", [None, True, False]),
    ]
    for number, (kind, values) in enumerate(cases):
        table = made(tmp_path, f"t{number}", f"p {kind}", partition_by=["p"])
        frame = texts(spark, values + values, f"p {kind}").coalesce(1)
        table.append(frame, engine="native")
        tasks = table.scan().plan_files()
        got = sorted(repr(task.partition[0]) for task in tasks)
        assert got == sorted(map(repr, values)), kind
        assert [task.record_count for task in tasks] == [2] * len(values)


SPECS = [
    ["bucket(7, id)", "bucket(7, i)", "bucket(7, s)", "bucket(7, dec9)", "bucket(7, dt)",
     "bucket(7, ts)", "bucket(7, tsn)", "bucket(7, bin)", "bucket(3, st.a)"],
    ["truncate(3, i)", "truncate(1, s)", "truncate(10, dec18)", "truncate(1, bin)", "years(dt)",
     "months(ts)", "hours(tsn)", "ts", "d"],
    ["hours(ts)", "days(tsn)", "months(dt)", "tsn", "dt", "i", "s", "dec38", "f", "flag", "bin"],
    ["days(ts)", "years(tsn)", "truncate(3, id)", "days(dt)"],
    ["hours(ts)", "flag", "bucket(7, id)"],
    ["days(dt)", "months(tsn)"],
]  # fmt: skip


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec[0])
def test_partitions_are_those_of_the_arrow_writer(
    spark: Any, tmp_path: Path, spec: list[str]
) -> None:
    given = sample(spark)
    table = made(tmp_path, "t", DDL, partition_by=spec)
    with setting(spark, "spark.sql.session.timeZone", "Pacific/Apia"):
        native = written(table, given, "native")
        arrow = written(table, given, "arrow")
    assert partitions(native) == partitions(arrow)
    assert len(native) > 2


@pytest.mark.parametrize(
    "spec", ["years(ts)", "months(ts)", "days(ts)", "hours(ts)", "truncate(7, n)"]
)
def test_partitions_below_zero_and_at_the_ends_are_rounded_down(
    spark: Any, tmp_path: Path, spec: str
) -> None:
    day = 86_400_000_000
    near = [-day - 1, -day, -day + 1, -8, -7, -6, -1, 0, 1, day - 1, day, 31 * day, -31 * day, None]
    rows = spark.createDataFrame([(n,) for n in [*near, 2**63 - 1, -(2**62)]], "n bigint")
    moment = "if(n between -9e15 and 9e15, timestamp_micros(n), null) ts"
    frame = rows.selectExpr("n", moment).coalesce(1)
    table = made(tmp_path, "t", "n bigint, ts timestamp", partition_by=[spec])
    native, arrow = written(table, frame, "native"), written(table, frame, "arrow")
    assert partitions(native) == partitions(arrow)
    assert len(native) >= 3


def test_the_metrics_equal_the_arrow_writers(spark: Any, tmp_path: Path) -> None:
    long = [f"repeat('y', 5000) {name}" if name == "s" else name for name in COLUMNS]
    given = sample(spark)
    table = made(tmp_path, "t", DDL, properties={"write.metadata.metrics.column.i": "counts"})
    for frame in (given, given.selectExpr(*long)):
        (native,), (arrow,) = written(table, frame, "native"), written(table, frame, "arrow")
        for kind in ("value_counts", "null_value_counts", "nan_value_counts"):
            assert dict(getattr(native, kind)) == dict(getattr(arrow, kind)), kind
        assert dict(native.lower_bounds) == dict(arrow.lower_bounds)
        assert dict(native.upper_bounds) == dict(arrow.upper_bounds)
        assert set(native.column_sizes) == set(arrow.column_sizes)


def test_floats_are_read_back_only_where_there_may_be_nan(spark: Any, tmp_path: Path) -> None:
    nan = float("nan")
    cases = [[1.5, -0.0], [0.0, 2.0], [-1.0, 0.0], [nan, 1.0], [1.0, nan, -0.0], [nan], [None]]
    rows = [(number, value, value) for number, values in enumerate(cases) for value in values]
    table = made(tmp_path, "t", "p int, d double, f float", partition_by=["p"])
    given = spark.createDataFrame(rows, "p int, d double, f float").coalesce(1)
    native, arrow = (
        sorted(written(table, given, engine), key=lambda file: file.partition)
        for engine in ("native", "arrow")
    )
    for kind in ("null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"):
        shown = [[dict(getattr(file, kind)) for file in files] for files in (native, arrow)]
        assert shown[0] == shown[1], kind
    by_footer = describer(write_context(table.metadata), FsspecIO({}), reads_columns=False)
    for file, reads in zip(native, (False, False, False, True, True, True, False), strict=True):
        with pytest.raises(NotInFooterError) if reads else nullcontext():
            assert by_footer(file.file_path, file.file_size_in_bytes) == file


def test_many_files_are_described_by_tasks(any_spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, "t", "id bigint not null, k string", partition_by=["id"])
    frame = any_spark.range(40).selectExpr("id", "'x' k")
    files = written(table, frame, "native")
    assert sorted(file.partition for file in files) == [(number,) for number in range(40)]
    nulls = any_spark.range(40).selectExpr("if(id > 20, null, id) id", "cast(id as string) k")
    with pytest.raises(InvalidInputError, match="Column 'id' is required"):
        table.append(nulls, engine="native")
    assert stored(table) == {file.file_path for file in files}


def test_columns_are_matched_as_the_arrow_writer_does(any_spark: Any, tmp_path: Path) -> None:
    ddl = "id bigint, st struct<a: bigint, b: string>, d decimal(10, 4), x double"
    table = made(tmp_path, "t", ddl)
    given = any_spark.sql("select named_struct('B', 'y', 'a', 1) ST, cast(2 as tinyint) Id, 1.5 d")
    for engine in ("native", "arrow"):
        table.append(given, engine=engine, case_sensitive=False)
        with pytest.raises(InvalidSchemaError, match="no columns 'ST'"):
            table.append(given, engine=engine)
    first, second = table.scan().to_arrow().to_pylist()
    wanted = {"id": 2, "st": {"a": 1, "b": "y"}, "d": Decimal("1.5000"), "x": None}
    assert first == second == wanted


def test_sessions_get_their_settings_back(spark: Any, tmp_path: Path) -> None:
    hostile = {
        TIMESTAMPS: "INT96",
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.fieldId.write.enabled": "false",
        "spark.sql.files.maxRecordsPerFile": "1",
    }
    before = {name: spark.conf.get(name, None) for name in (*hostile, *WRITE_SETTINGS)}
    table = made(tmp_path, "t", "id bigint, ts timestamp")
    with ExitStack() as stack:
        for name, value in hostile.items():
            stack.enter_context(setting(spark, name, value))
        table.append(spark.sql("select id, timestamp_micros(id) ts from range(9)").coalesce(1))
        assert {name: spark.conf.get(name) for name in hostile} == hostile
        bad = spark.sql("select raise_error('boom') id")
        with pytest.raises(Exception, match="boom"):
            table.append(bad.selectExpr("cast(id as bigint) id"), engine="native")
        assert {name: spark.conf.get(name) for name in hostile} == hostile
    assert {name: spark.conf.get(name, None) for name in before} == before
    (path,) = paths(table)
    assert pq.ParquetFile(path).metadata.schema.column(1).physical_type == "INT64"


def test_a_write_in_another_thread_keeps_the_settings(spark: Any) -> None:
    with write_settings(spark):
        seen: list[str] = []

        def other() -> None:
            with write_settings(spark):
                seen.append(spark.conf.get(TIMESTAMPS))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        seen.append(spark.conf.get(TIMESTAMPS))
    assert seen == ["TIMESTAMP_MICROS"] * 2
    assert spark.conf.get(TIMESTAMPS, None) is None


def test_a_file_with_int96_is_not_committed(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another thread changes the setting while the write runs."""
    monkeypatch.setattr(native_write, "write_settings", lambda _, **__: nullcontext())
    table = made(tmp_path, "t", "ts timestamp")
    with pytest.raises(UnsupportedError, match="INT96"):
        table.append(spark.sql("select timestamp_micros(1) ts"), engine="native")
    assert stored(table) == set()
    assert table.refresh().snapshots() == []


def test_a_failing_native_write_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, "t", "id bigint")
    frame = spark.range(0, 100, 1, 4).selectExpr(
        "cast(if(id = 99, raise_error('boom'), id) as bigint) id"
    )
    with pytest.raises(Exception, match="boom"):
        table.append(frame, engine="native")
    assert stored(table) == set()


def test_rows_are_sorted_by_the_tables_order_on_both_engines(spark: Any, tmp_path: Path) -> None:
    order = ["bucket(2, id)", "k desc nulls last"]
    table = made(tmp_path, "t", "id bigint, k string", partition_by=["truncate(50, id)"],
                 sort_order=order)  # fmt: skip
    frame = spark.range(0, 100, 1, 4).selectExpr("id", "if(id % 7 = 0, null, hex(id * 7919)) k")
    for engine in ("native", "arrow"):
        for mode in ("none", "hash", "range"):
            files = written(table, frame, engine, distribution_mode=mode)
            assert {file.sort_order_id for file in files} == {table.sort_order().order_id}
            for file in files:
                rows = pq.read_table(file.file_path).to_pylist()
                keys = [(bucket_of(row["id"]), row["k"] is None) for row in rows]
                assert keys == sorted(keys)
                for key in set(keys):
                    run = [
                        row["k"] or "" for row, own in zip(rows, keys, strict=True) if own == key
                    ]
                    assert run == sorted(run, reverse=True)


def bucket_of(number: int) -> int:
    array = pa.array([number])
    return apply_transform(BucketTransform(2), LongType(), array)[0].as_py()


def test_few_partitions_are_spread_over_tasks(spark: Any, tmp_path: Path) -> None:
    """With two tasks, as this session has, three of these four would be written by one."""
    table = made(tmp_path, "t", "id bigint, p int", partition_by=["p"])
    frame = spark.range(0, 8, 1, 1).selectExpr("id", "cast(600 + id % 4 as int) p")
    with (
        setting(spark, "spark.sql.shuffle.partitions", "2"),
        setting(spark, "spark.sql.adaptive.coalescePartitions.minPartitionSize", "1b"),
        setting(spark, "spark.sql.adaptive.advisoryPartitionSizeInBytes", "1b"),
    ):
        files = written(table, frame, "native")
    tasks = {Path(file.file_path).name.split("-")[1] for file in files}
    assert len(files) == len(tasks) == 4


@pytest.mark.parametrize("engine", ["native", "arrow"])
def test_a_partition_that_is_much_for_one_task_is_cut(
    any_spark: Any, tmp_path: Path, engine: Any
) -> None:
    frame = any_spark.range(0, 40_000, 1, 8).selectExpr("id", "cast(id % 2 as int) p")
    asked = {"write.spark.advisory-partition-size-bytes": "20000"}
    counts = []
    for name, properties in (("whole", {}), ("cut", asked)):
        table = made(tmp_path, name, "id bigint, p int", partition_by=["p"], properties=properties)
        files = written(table, frame, engine)
        assert sum(file.record_count for file in files) == 40_000
        counts.append(len(files))
    assert counts[0] == 2
    assert counts[1] >= 4
    table.update_properties().set({**asked, next(iter(asked)): "0"}).commit()
    with pytest.raises(InvalidOptionError, match="must be positive"):
        table.append(frame, engine=engine)


@pytest.mark.parametrize(
    ("properties", "megabytes"),
    [
        ({}, 384),
        ({"write.parquet.compression-codec": "snappy"}, 256),
        ({"write.format.default": "avro"}, 192),
        ({"write.spark.advisory-partition-size-bytes": "1048576"}, 1),
    ],
)
def test_a_task_gets_what_becomes_a_file_by_its_codec(
    spark: Any, tmp_path: Path, properties: dict[str, str], megabytes: int
) -> None:
    """As Java's `SparkWriteConf` reckons, with Spark's lz4 for the shuffle."""
    table = made(tmp_path, "t", "id bigint", partition_by=["id"], properties=properties)
    shuffle = shuffle_of(write_context(table.metadata), None, spark)
    assert shuffle.task_bytes == megabytes * 1024 * 1024
    assert shuffle_of(write_context(table.metadata), "none", spark) == NO_SHUFFLE


def test_hash_gives_each_partition_one_file_and_none_one_for_each_task(
    spark: Any, tmp_path: Path
) -> None:
    table = made(tmp_path, "t", "id bigint, k string", partition_by=["k"])
    frame = spark.range(0, 100, 1, 4).selectExpr("id", "cast(id % 3 as string) k")
    for engine in ("native", "arrow"):
        assert len(written(table, frame, engine)) == 3
        assert len(written(table, frame, engine, distribution_mode="none")) == 12
    with pytest.raises(InvalidInputError, match="distribution-mode: 'any'"):
        table.append(frame, distribution_mode="any")


@pytest.mark.parametrize(
    ("ddl", "properties", "reason"),
    [
        ("l array<int>", {}, "column 'l' is a list or map"),
        ("id int", {"write.format.default": "orc"}, "files are orc"),
        ("id int", {"write.object-storage.enabled": "true"}, "hashed file locations"),
        ("id int", {"write.data.path": "memory://t/data"}, "not safe on memory"),
        ("id int", {"write.parquet.compression-codec": "brotli"}, "brotli"),
        ("s struct<a: int not null>", {}, "a footer can't prove"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*compression-codec' = 'brotli'")
def test_what_sparks_writer_cannot_do_goes_to_the_arrow_writer(
    tmp_path: Path, ddl: str, properties: dict[str, str], reason: str
) -> None:
    table = made(tmp_path, "t", ddl, properties=properties)
    context = write_context(table.metadata)
    chosen = write_engine(context)
    assert chosen.engine == "arrow"
    assert reason in chosen.reason
    with pytest.raises(UnsupportedError, match=reason):
        write_engine(context, "native")


def test_full_files_have_about_the_target_size(spark: Any, tmp_path: Path) -> None:
    target = 300_000
    properties = {"write.target-file-size-bytes": str(target)}
    table = made(tmp_path, "t", "id bigint, s string, x double", properties=properties)
    frame = spark.range(0, 150_000, 1, 1).selectExpr(
        "id", "sha1(cast(id as string)) s", "rand(1) x"
    )
    for _ in range(2):  # the first by a sample of the rows, the second by the table's files
        table.append(frame, engine="native")
    sizes = [Path(path).stat().st_size for path in paths(table)]
    full = sorted(sizes)[2:]  # the last one of each write is what is left
    assert len(full) > 20
    near = [size for size in full if 0.6 <= size / target <= 1.4]
    assert len(near) >= 0.8 * len(full)


def test_the_files_are_encoded_as_the_properties_say(spark: Any, tmp_path: Path) -> None:
    properties = {
        "write.parquet.compression-codec": "gzip",
        "write.parquet.row-group-size-bytes": "40000",
        "write.parquet.dict-encoding-enabled.column.id": "false",
    }
    table = made(tmp_path, "t", "id bigint", properties=properties)
    (file,) = written(table, spark.range(0, 30_000, 1, 1).selectExpr("id % 50 id"), "native")
    column = pq.ParquetFile(file.file_path).metadata.row_group(0).column(0)
    assert column.compression == "GZIP"
    assert not column.has_dictionary_page
    (plain,) = written(table, spark.range(0, 30_000, 1, 1), "native")
    assert len(plain.split_offsets) > 1
