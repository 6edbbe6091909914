"""Session settings and options of Java's Spark runtime 1.12, and their effect here.

Java: SparkSQLProperties, SparkReadOptions, SparkWriteOptions. `docs/settings.md` shows the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SNAPSHOT_PROPERTY = "snapshot-property."
READ_SPLIT_SIZE = "spark.sql.iceberg.read.split-size"
SESSION_PREFIX = "spark.sql.iceberg."


@dataclass(frozen=True, slots=True)
class RuntimeName:
    """A session setting or an option of Java's runtime.

    One that is not `honoured` is accepted without an effect. `effect` is a sentence for the docs.
    `option` is the write option whose default a session setting is.
    """

    name: str
    effect: str
    honoured: bool = True
    option: str | None = None


def _accepted(name: str, effect: str) -> RuntimeName:
    return RuntimeName(name, effect, honoured=False)


def _default_of(option: str, effect: str) -> RuntimeName:
    return RuntimeName(f"{SESSION_PREFIX}{option}", effect, option=option)


_NO_VECTORS = "Rows are always read as columns."
_OWN_CACHE = "This library has its own cache of deletes, without settings."
_NO_LOCALITY = "Spark places the tasks of the native engine; workers have no preferred host."
_NO_ASYNC = "A micro-batch is planned when Spark asks for it."
_NO_STRATEGY = "The ORC library has no choice of strategies."

SESSION_SETTINGS = (
    RuntimeName(
        "spark.sql.iceberg.aggregate-push-down.enabled",
        "`false` reads the files for `count`, `min` and `max` instead of their metadata.",
    ),
    _default_of("distribution-mode", "Default of the write option, also for row-level changes."),
    _default_of("compression-codec", "Default of the write option, also for delete files."),
    _default_of("compression-level", "Default of the write option, for Parquet files."),
    _default_of("advisory-partition-size", "Default of the write option."),
    _default_of("merge-schema", "Default of the write option, for PySpark's writers."),
    _default_of("check-nullability", "Default of the write option."),
    _default_of("shred-variants", "Default of the write option."),
    _default_of("variant-inference-buffer-size", "Default of the write option."),
    RuntimeName(
        f"{SESSION_PREFIX}{SNAPSHOT_PROPERTY}*",
        "Goes into the summary of each snapshot; options and arguments override it.",
        option=SNAPSHOT_PROPERTY,
    ),
    RuntimeName(READ_SPLIT_SIZE, "Default of the read option `split-size`."),
    RuntimeName(
        "spark.sql.iceberg.data-planning-mode",
        "Who reads data manifests: `auto`, `local` or `distributed` ([how](tuning.md#planning)).",
    ),
    RuntimeName("spark.sql.iceberg.delete-planning-mode", "Who reads delete manifests, likewise."),
    RuntimeName("spark.wap.branch", "The branch of tables with `write.wap.enabled`."),
    RuntimeName("spark.wap.id", "The id of staged snapshots, for tables with `write.wap.enabled`."),
    _accepted(
        "spark.sql.iceberg.check-ordering",
        "Columns are matched by name. The write option `check-ordering` makes their order count.",
    ),
    _accepted("spark.sql.iceberg.compression-strategy", _NO_STRATEGY),
    _accepted("spark.sql.iceberg.vectorization.enabled", _NO_VECTORS),
    _accepted("spark.sql.iceberg.locality.enabled", _NO_LOCALITY),
    _accepted("spark.sql.iceberg.executor-cache.enabled", _OWN_CACHE),
    _accepted("spark.sql.iceberg.executor-cache.delete-files.enabled", _OWN_CACHE),
    _accepted("spark.sql.iceberg.executor-cache.timeout", _OWN_CACHE),
    _accepted("spark.sql.iceberg.executor-cache.max-entry-size", _OWN_CACHE),
    _accepted("spark.sql.iceberg.executor-cache.max-total-size", _OWN_CACHE),
    _accepted("spark.sql.iceberg.executor-cache.locality.enabled", _OWN_CACHE),
    _accepted(
        "spark.sql.iceberg.planning.preserve-data-grouping",
        "Storage-partitioned joins need a source in Java.",
    ),
    _accepted(
        "spark.sql.iceberg.report-column-stats",
        "Spark's cost-based optimizer gets sizes, and no column statistics.",
    ),
    _accepted(
        "spark.sql.iceberg.identifier-fields-rely",
        "Spark's optimizer gets no constraints of tables.",
    ),
    _accepted(
        "spark.sql.iceberg.read.adaptive-split-size.enabled",
        "Splits have the size of `split-size` or of the table's property.",
    ),
    _accepted(
        "spark.sql.iceberg.read.adaptive-split-size.parallelism",
        "Splits have the size of `split-size` or of the table's property.",
    ),
    _accepted("spark.sql.iceberg.async-micro-batch-planning-enabled", _NO_ASYNC),
    _accepted(
        "spark.sql.iceberg.view.schema-binding-mode",
        "A view whose query returns other types is read if they can be widened, else an error.",
    ),
)

READ_OPTIONS = (
    RuntimeName("path", "The table: a location or an identifier."),
    RuntimeName("snapshot-id", "Reads this snapshot."),
    RuntimeName("as-of-timestamp", "Reads the snapshot that was current then (ms)."),
    RuntimeName("branch", "Reads the head of this branch."),
    RuntimeName("tag", "Reads the snapshot of this tag."),
    RuntimeName("versionAsOf", "Reads a snapshot by its id, or a branch or tag."),
    RuntimeName(
        "timestampAsOf",
        "Reads the snapshot of a timestamp, or of seconds since 1970.",
    ),
    RuntimeName("start-snapshot-id", "Rows that were appended after this snapshot."),
    RuntimeName("end-snapshot-id", "Rows that were appended up to this snapshot."),
    RuntimeName("start-timestamp", "The changes of a table (`t#changes`) from this time on (ms)."),
    RuntimeName("end-timestamp", "The changes of a table (`t#changes`) up to this time (ms)."),
    RuntimeName(
        "split-size",
        "Bytes that a task of the Arrow engine reads; "
        "Spark's reader has `spark.sql.files.maxPartitionBytes`.",
    ),
    RuntimeName("lookback", "How many open groups of files a split may join."),
    RuntimeName("file-open-cost", "The smallest size that a file counts as, in bytes."),
    RuntimeName("batch-size", "Rows that the Arrow engine reads at a time."),
    RuntimeName("stream-from-timestamp", "A stream begins with snapshots after this time (ms)."),
    RuntimeName("streaming-skip-delete-snapshots", "A stream skips snapshots that delete rows."),
    RuntimeName("streaming-skip-overwrite-snapshots", "A stream skips overwrites."),
    RuntimeName("streaming-max-files-per-micro-batch", "Bounds a micro-batch of a stream."),
    RuntimeName("streaming-max-rows-per-micro-batch", "Bounds a micro-batch of a stream."),
    _accepted("vectorization-enabled", _NO_VECTORS),
    _accepted("locality", _NO_LOCALITY),
    _accepted(
        "aggregate-push-down-enabled",
        "The session setting `spark.sql.iceberg.aggregate-push-down.enabled` decides.",
    ),
    _accepted("async-micro-batch-planning-enabled", _NO_ASYNC),
    _accepted("streaming-snapshot-polling-interval-ms", _NO_ASYNC),
    _accepted("async-queue-preload-file-limit", _NO_ASYNC),
    _accepted("async-queue-preload-row-limit", _NO_ASYNC),
)

WRITE_OPTIONS = (
    RuntimeName("write-format", "The format of data files: `parquet`, `orc` or `avro`."),
    RuntimeName("target-file-size-bytes", "The size at which a data file is finished."),
    RuntimeName("compression-codec", "The codec of data and delete files."),
    RuntimeName("compression-level", "The level of that codec, for Parquet files."),
    RuntimeName("delete-format", "The format of delete files, which an upsert writes."),
    RuntimeName("target-delete-file-size-bytes", "The size at which a delete file is finished."),
    RuntimeName("delete-granularity", "`file` or `partition`: what a position delete file covers."),
    RuntimeName("branch", "Commits to this branch."),
    RuntimeName("snapshot-property.*", "Goes into the snapshot's summary."),
    RuntimeName("overwrite-mode", "`static` or `dynamic`."),
    RuntimeName(
        "isolation-level",
        "`serializable` or `snapshot`: which commits an overwrite conflicts with.",
    ),
    RuntimeName(
        "validate-from-snapshot-id",
        "With `isolation-level`: only commits after this snapshot are conflicts.",
    ),
    RuntimeName("merge-schema", "Adds the DataFrame's new columns, and widens types."),
    RuntimeName("mergeSchema", "The same."),
    RuntimeName("check-nullability", "`false` accepts nullable columns for required ones."),
    RuntimeName("check-ordering", "`true` requires columns in the table's order; off by default."),
    RuntimeName("fanout-enabled", "`false` keeps one file open at a time."),
    RuntimeName(
        "distribution-mode", "`none`, `hash` or `range`: how rows are distributed to tasks."
    ),
    RuntimeName(
        "use-table-distribution-and-ordering",
        "`false` neither shuffles nor sorts rows before they are written.",
    ),
    RuntimeName(
        "advisory-partition-size", "Bytes of shuffled rows that a task of a `hash` write gets."
    ),
    RuntimeName("output-spec-id", "Partitions files by this spec of the table."),
    RuntimeName("output-sort-order-id", "Sorts rows by this sort order of the table."),
    RuntimeName("shred-variants", "Shreds variants, in Parquet files."),
    RuntimeName("variant-inference-buffer-size", "Rows of a file that decide what is shredded."),
    _accepted("compression-strategy", _NO_STRATEGY),
    _accepted(
        "use-merge-append-for-streaming", "An append merges small manifests, in streams too."
    ),
)


def accepted_names(names: Iterable[RuntimeName]) -> tuple[str, ...]:
    """Return the names that are accepted without an effect."""
    return tuple(name.name for name in names if not name.honoured)


def write_defaults(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the write options that a session's settings are the defaults of.

    >>> write_defaults({"spark.sql.iceberg.compression-codec": "gzip"})
    {'compression-codec': 'gzip'}
    """
    options = {
        name.option: settings[name.name]
        for name in SESSION_SETTINGS
        if name.option is not None and name.name in settings
    }
    prefix = f"{SESSION_PREFIX}{SNAPSHOT_PROPERTY}"
    summary = {
        key.removeprefix(SESSION_PREFIX): value
        for key, value in settings.items()
        if key.startswith(prefix)
    }
    return {**options, **summary}
