"""A planned scan as a DataFrame, whichever engine reads its groups of files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, reduce
from itertools import starmap
from types import MethodType
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import CorruptFileError, UnsupportedError
from iceberg_spark.formats.parquet_head import FooterHead
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan, TaskValues
from iceberg_spark.scan.report import count
from iceberg_spark.scan.split import Longs, SplitOptions, split_options
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.adapt.batches import task_batches
from iceberg_spark.spark.adapt.jobs import job_results, job_rows
from iceberg_spark.spark.adapt.types import check_geo_types, nullable, to_spark
from iceberg_spark.spark.catalyst.classic_queries import Rows, TypedRows, frame_of
from iceberg_spark.spark.catalyst.planned_relations import gives_file_values
from iceberg_spark.spark.reading.engine_choice import (
    MANY_SMALL_FILES,
    FileGroup,
    Reach,
    choose_engines,
    rows_of,
)
from iceberg_spark.spark.reading.footer_columns import columns_in, may_be_misread
from iceberg_spark.spark.reading.footers import ListedFile, listed_files, read_footers
from iceberg_spark.spark.reading.limits import FOOTERS
from iceberg_spark.spark.reading.parquet_relation import relation
from iceberg_spark.spark.reading.prune_files import prune_in_optimizer
from iceberg_spark.spark.session.classic_session import (
    active_session_kept,
    all_settings,
    hadoop_file_system,
    is_connect,
)
from iceberg_spark.spark.session.engine import Engine
from iceberg_spark.spark.session.long_texts import settings_text
from iceberg_spark.spark.session.session_cache import bypass_cache
from iceberg_spark.spec import types as t

BUILT_IN_SCHEMES = frozenset({"", "file", "hdfs", "viewfs"})


def plan_frame(
    plan: ScanPlan,
    spark: SparkSession,
    *,
    engine: Engine | None = None,
    split: SplitOptions | None = None,
    filters: bool = True,
    groups: Sequence[FileGroup] | None = None,
) -> DataFrame:
    """Return the rows of a plan as a DataFrame. Nothing is planned again, and nothing is read yet.

    The columns are those of `plan.context.read_schema`, with metadata columns. They are nullable,
    and have the table's comments and no other field metadata. It works in classic and Connect
    sessions.

    Args:
        plan: the scan.
        spark: the session of the DataFrame.
        engine: the engine to use; None chooses one for each group of files.
        split: how the Arrow engine splits files into tasks.
        filters: apply the filter of the plan. A query that has it among its own conditions needs no
            second one.
        groups: the result of `file_groups` for the plan, if it is known.

    Raises:
        UnsupportedError: the given engine cannot read a file.
    """
    rows = plan_rows(plan, spark, engine=engine, split=split, filters=filters, groups=groups)
    frame = frame_of(rows, spark)
    count = plan.record_count
    return frame if count is None or engine == "arrow" else with_count(frame, count)


def file_groups(
    plan: ScanPlan, spark: SparkSession, engine: Engine | None = None
) -> Sequence[FileGroup]:
    """Return the files of a plan by the engine that reads them, none if `engine` is "arrow"."""
    return () if engine == "arrow" else choose_engines(plan, reach_of(spark))


def are_native(groups: Sequence[FileGroup]) -> bool:
    """Return whether there are files, and Spark's reader reads all of them."""
    return bool(groups) and all(group.engine == "native" for group in groups)


def plan_rows(
    plan: ScanPlan,
    spark: SparkSession,
    *,
    engine: Engine | None = None,
    split: SplitOptions | None = None,
    filters: bool = True,
    groups: Sequence[FileGroup] | None = None,
) -> Rows:
    """Return the rows of a plan for a query that they become a part of, as `plan_frame` does."""
    check_geo_types(plan.context.read_schema, spark)
    if groups is None:
        groups = file_groups(plan, spark, engine)
    if not are_native(groups):
        return _mixed(plan, groups, spark, engine, split, filters=filters)
    frames = _relations(plan, groups, spark, filters=filters)
    # The type is said once more, so that no field id of a relation is seen.
    return TypedRows(nullable(to_spark(plan.context.read_schema)), frames)


def _relations(
    plan: ScanPlan, native: Sequence[FileGroup], spark: SparkSession, *, filters: bool
) -> list[DataFrame]:
    session = reading_session(spark, local=all(group.is_local for group in native))
    prune_in_optimizer(spark)
    with active_session_kept():
        return [
            relation(plan, group, group.columns, session, filters=filters)
            for group in native
            if group.columns
        ]


def _mixed(
    plan: ScanPlan,
    groups: Sequence[FileGroup],
    spark: SparkSession,
    engine: Engine | None,
    split: SplitOptions | None,
    *,
    filters: bool,
) -> DataFrame:
    """Return a DataFrame of which the Arrow engine reads some or all files, or that has none."""
    native = [group for group in groups if group.engine == "native"]
    others = [group for group in groups if group.engine == "arrow"]
    if engine == "native" and others:
        why = "; ".join(f"{len(group.rows):,} files: {group.reason}" for group in others)
        raise UnsupportedError(f"The native engine can't read {why}. Leave `engine` out")
    rest = plan.subset(rows_of(others)) if native else plan
    tasks = rest.group_values(_for_arrow(others, split_options({}) if split is None else split))
    frame = arrow_frame(plan.context, tasks, spark)
    more = _relations(plan, native, spark, filters=filters) if native else []
    return reduce(lambda left, right: left.union(right), more, frame)


def _for_arrow(groups: list[FileGroup], split: SplitOptions) -> SplitOptions:
    """Return options that put many small files into fewer tasks, unless a file cost is given.

    A task takes Spark and a Python worker 30 to 60 ms; a small local file takes 1 ms.
    """
    many = any(group.reason == MANY_SMALL_FILES for group in groups)
    default = split_options({}).open_file_cost
    if not many or split.open_file_cost != default:
        return split
    return replace(split, open_file_cost=default // 4)


def reading_lines(
    plan: ScanPlan, spark: SparkSession | None = None, engine: Engine | None = None
) -> list[str]:
    """Return which engine reads how many files and why, one line for each group.

    Without a session, the lines are those of a classic session.
    """
    if engine == "arrow":
        return [f"{count(len(plan), 'file')}: arrow, as asked for"] if len(plan) else []
    groups = choose_engines(plan, Reach() if spark is None else reach_of(spark))
    return [f"{count(len(group.rows), 'file')}: {group.label}" for group in groups]


def reach_of(spark: SparkSession) -> Reach:
    """Return what a session's Spark can read."""
    hadoop = hadoop_of(spark)

    def has_file_system(prefix: str) -> bool:
        return prefix.partition(":")[0] in BUILT_IN_SCHEMES or hadoop.has_file_system(prefix)

    return Reach(
        not is_connect(spark),
        unfit_setting(spark),
        has_file_system,
        hadoop.setting,
        gives_file_values(spark),
        partial(find_misread, spark),
    )


def with_count(frame: DataFrame, rows: int) -> DataFrame:
    """Return a DataFrame whose own `count()` returns a known number without a job.

    DataFrames derived from it count their rows, and a cached DataFrame counts to fill the cache.
    """

    def count(self: DataFrame) -> int:
        return type(self).count(self) if self.is_cached else rows

    frame.count = MethodType(count, frame)  # type: ignore[method-assign]
    return frame


TaskGroup: TypeAlias = tuple[TaskValues, ...]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads groups of one scan."""

    context: ScanContext

    def rows(self, group: TaskGroup) -> Iterator[pa.RecordBatch]:
        """Yield the live rows of a group."""
        return task_batches(self.context, starmap(FileScanTask, group))


def arrow_frame(
    context: ScanContext, groups: Sequence[TaskGroup], spark: SparkSession
) -> DataFrame:
    """Return the rows of the groups, one group per Spark partition, classic and Connect alike.

    The driver holds the pickled tasks, some 300 bytes a file and its share of the deletes'.
    """
    return job_rows(spark, groups, _Reader(context).rows, nullable(to_spark(context.read_schema)))


# Files that Spark's reader misreads, found by their footers in a Spark job.
#
# Spark misreads decimals of at most 18 digits in some physical types (`footer_columns`). The
# driver reads the footers of a limited number of files; for more files, the tasks of a job read
# them.

_BYTES_OF_A_REASON = 200


def find_misread(
    spark: SparkSession, plan: ScanPlan, rows: Longs, columns: Sequence[t.NestedField]
) -> Mapping[int, str]:
    """Return why Spark's reader misreads files, by their indices in the plan.

    No job runs for columns that Spark reads right in every file, and one job in a process for the
    same files and columns. Raises CorruptFileError as `footers` does.
    """
    decimals = tuple(column for column in columns if may_be_misread(column))
    if not decimals:
        return {}
    files = listed_files(plan, rows)
    task = _FooterTask(plan.context.io, decimals)

    def load() -> tuple[dict[int, str], int]:
        reasons = _run(spark, task, files)
        return reasons, (len(reasons) + 1) * _BYTES_OF_A_REASON

    reasons: dict[int, str] = process_cache().get_or_load(task.cache_key(files), load)
    return {int(rows[index]): reason for index, reason in reasons.items()}


@dataclass(frozen=True, slots=True)
class _FooterTask:
    """The function of every task: it reads the footers of some files."""

    io: FileIO
    columns: tuple[t.NestedField, ...]

    def reasons(self, files: Sequence[ListedFile]) -> dict[int, str]:
        """Return why Spark's reader misreads files, by their index."""
        heads = read_footers(self.io, files, has_mapping=False)
        reasons = {index: self._reason(head) for index, head in enumerate(heads)}
        return {index: reason for index, reason in reasons.items() if reason is not None}

    def _reason(self, head: FooterHead | None) -> str | None:
        if head is None:  # the action says what is wrong
            return None
        columns = columns_in(head.columns.arrow, self.columns, {}, {}, head.columns.leaves)
        return columns if isinstance(columns, str) else None

    def cache_key(self, files: Sequence[ListedFile]) -> tuple[object, ...]:
        """Return what the reasons depend on. Files never change, so their paths are enough."""
        digest = hashlib.blake2b(repr(files).encode()).digest()
        kinds = tuple((column.field_id, str(column.field_type)) for column in self.columns)
        return ("misread files", storage_server(self.io, files[0][0]), digest, kinds)


def _run(spark: SparkSession, task: _FooterTask, files: Sequence[ListedFile]) -> dict[int, str]:
    starts = range(0, len(files), FOOTERS.task_files)
    jobs = [files[start : start + FOOTERS.task_files] for start in starts]
    parts = job_results(spark, jobs, task.reasons, final=(CorruptFileError,))
    return {
        start + index: reason
        for start, part in zip(starts, parts, strict=True)
        for index, reason in part.items()
    }


FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled"
EXACT_DATES = "spark.sql.datetime.java8API.enabled"
"""With it, Spark passes dates to its Parquet reader as java.time.LocalDate. The calendar of
java.sql.Date lacks 5 to 14 October 1582. Classic sessions use `PlannedRelations.java` instead.
"""
LISTING_THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
V1_SOURCES = "spark.sql.sources.useV1SourceList"
ON_THE_DRIVER = str(2**31 - 1)

NEEDED: Mapping[str, str] = {
    FIELD_IDS: "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.parquet.enableNestedColumnVectorizedReader": "true",
    "spark.sql.parquet.recordLevelFilter.enabled": "false",
    "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": "false",
    "spark.sql.parquet.ignoreVariantAnnotation": "false",
    "spark.sql.variant.allowReadingShredded": "true",
    V1_SOURCES: "avro,csv,json,kafka,orc,parquet,text",
    "spark.sql.parser.quotedRegexColumnNames": "false",
}
"""Settings that reading by field id needs. Only V1 sources have row positions, and a quoted name
has to be a name.
"""


def reading_session(spark: SparkSession, *, local: bool) -> SparkSession:
    """Return the session that creates relations.

    A classic relation reads with the settings of the session that created it, also as a part of
    another session's DataFrame. So a session of the library creates it, with the user's settings
    and those in NEEDED: settings that the user changes later do not change the meaning of a column,
    and the user's session stays unchanged. Over Connect, the user's session resolves and runs every
    plan. There the settings are set in it and stay, because every action resolves the plan again.

    Args:
        spark: the user's session.
        local: all files are on local disks. The driver lists many of them faster than a job would.
    """
    settings = {LISTING_THRESHOLD: ON_THE_DRIVER} if local else {}
    if is_connect(spark):
        for key, value in {FIELD_IDS: "true", EXACT_DATES: "true", **settings}.items():
            spark.conf.set(key, value)
        return spark
    with bypass_cache():  # the session that is made has the settings of now
        return _new_session(spark, settings_text(spark), local)


def unfit_setting(spark: SparkSession) -> str | None:
    """Return a setting of a Connect session with which Spark's reader could read wrong values."""
    if not is_connect(spark):
        return None
    for key, value in NEEDED.items():
        if key == FIELD_IDS:
            continue
        setting = spark.conf.get(key, value)
        fits = "parquet" in str(setting).split(",") if key == V1_SOURCES else setting == value
        if not fits:
            return f"{key}={setting}"
    return None


@lru_cache(maxsize=8)
def _new_session(spark: SparkSession, users: str | None, local: bool) -> SparkSession:  # noqa: ARG001 (the key)
    session = spark.newSession()
    settings = {**all_settings(spark), **NEEDED, "spark.sql.caseSensitive": "true"}
    if local:
        settings[LISTING_THRESHOLD] = ON_THE_DRIVER
    current = all_settings(session)
    for key, value in settings.items():
        if current.get(key) != value and (session.conf.isModifiable(key) or _is_of_a_store(key)):
            session.conf.set(key, value)
    return session


def _is_of_a_store(key: str) -> bool:
    """Return whether a setting configures Hadoop's access to a store, which Spark cannot modify.

    Other Hadoop settings are not copied: some change how a file is read. Paths name their store.
    """
    return key.startswith("fs.") and key != "fs.defaultFS"


def hadoop_of(session: SparkSession) -> HadoopOfJava | HadoopOfServer:
    """Return the Hadoop file systems and settings of a session."""
    return HadoopOfServer(session) if is_connect(session) else HadoopOfJava(session)


@dataclass(slots=True)
class HadoopOfJava:
    """Hadoop in a classic session.

    The settings come from the file systems themselves: Hadoop caches one for each store, whatever a
    session sets later. They have core-site.xml, `spark.hadoop.*`, the session's settings and
    defaults.
    """

    session: SparkSession
    _file_systems: dict[str, Any] = field(default_factory=dict)

    def has_file_system(self, prefix: str) -> bool:
        """Return whether a store (`s3://bucket`) has a file system that works."""
        return self._file_system(prefix) is not None

    def setting(self, prefix: str, name: str) -> str | None:
        """Return a setting of a store's file system. It may be a secret: never print it."""
        file_system = self._file_system(prefix)
        value = None if file_system is None else file_system.getConf().get(name)
        return None if value is None else str(value)

    def _file_system(self, prefix: str) -> Any:
        if prefix not in self._file_systems:
            try:
                self._file_systems[prefix] = hadoop_file_system(self.session, prefix)
            except Exception:  # noqa: BLE001 (no class, or one that lacks others: Java has many words)
                self._file_systems[prefix] = None
        return self._file_systems[prefix]


@dataclass(frozen=True, slots=True)
class HadoopOfServer:
    """Hadoop on a Connect server, of which the client only knows `spark.hadoop.*`."""

    session: SparkSession

    def has_file_system(self, prefix: str) -> bool:
        """Return whether the settings name a class for a store's scheme."""
        return bool(self.setting(prefix, f"fs.{prefix.partition(':')[0]}.impl"))

    def setting(self, _prefix: str, name: str) -> str | None:
        """Return a setting. It may be a secret: never print it."""
        return self.session.conf.get(f"spark.hadoop.{name}", None)
