"""Table properties: names, defaults and typed values (Java: TableProperties).

A getter without a `default` takes the one of `DEFAULTS`. Sizes are bytes, times are ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spec.nearest import nearest
from iceberg_spark.spec.secrets import check_stored

DEFAULT_FORMAT_VERSION = 2
FORMAT_VERSION = "format-version"
RESERVED = frozenset((
    FORMAT_VERSION, "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
    "current-snapshot-timestamp-ms", "current-schema", "default-partition-spec",
    "default-sort-order",
))  # fmt: skip

COMMIT_NUM_RETRIES = "commit.retry.num-retries"
COMMIT_MIN_RETRY_WAIT_MS = "commit.retry.min-wait-ms"
COMMIT_MAX_RETRY_WAIT_MS = "commit.retry.max-wait-ms"
COMMIT_TOTAL_RETRY_TIME_MS = "commit.retry.total-timeout-ms"
COMMIT_NUM_STATUS_CHECKS = "commit.status-check.num-retries"
COMMIT_STATUS_CHECKS_MIN_WAIT_MS = "commit.status-check.min-wait-ms"
COMMIT_STATUS_CHECKS_MAX_WAIT_MS = "commit.status-check.max-wait-ms"
COMMIT_STATUS_CHECKS_TOTAL_WAIT_MS = "commit.status-check.total-timeout-ms"
MANIFEST_TARGET_SIZE_BYTES = "commit.manifest.target-size-bytes"
MANIFEST_MIN_MERGE_COUNT = "commit.manifest.min-count-to-merge"
MANIFEST_MERGE_ENABLED = "commit.manifest-merge.enabled"
MANIFEST_COMPRESSION = "write.manifest.compression-codec"

DEFAULT_FILE_FORMAT = "write.format.default"
DELETE_DEFAULT_FILE_FORMAT = "write.delete.format.default"  # default: the data file format
WRITE_TARGET_FILE_SIZE_BYTES = "write.target-file-size-bytes"
DELETE_TARGET_FILE_SIZE_BYTES = "write.delete.target-file-size-bytes"
PARQUET_ROW_GROUP_SIZE_BYTES = "write.parquet.row-group-size-bytes"
PARQUET_PAGE_SIZE_BYTES = "write.parquet.page-size-bytes"
PARQUET_PAGE_VERSION = "write.parquet.page-version"
PARQUET_PAGE_ROW_LIMIT = "write.parquet.page-row-limit"
PARQUET_DICT_SIZE_BYTES = "write.parquet.dict-size-bytes"
PARQUET_COMPRESSION = "write.parquet.compression-codec"
PARQUET_COMPRESSION_LEVEL = "write.parquet.compression-level"  # default: the codec's own
PARQUET_SHRED_VARIANTS = "write.parquet.shred-variants"
PARQUET_VARIANT_INFERENCE_ROWS = "write.parquet.variant-inference-buffer-size"
PARQUET_BLOOM_FILTER_MAX_BYTES = "write.parquet.bloom-filter-max-bytes"
PARQUET_BLOOM_FILTER_COLUMN_PREFIX = "write.parquet.bloom-filter-enabled.column."
PARQUET_BLOOM_FILTER_FPP_PREFIX = "write.parquet.bloom-filter-fpp.column."
PARQUET_DICT_COLUMN_PREFIX = "write.parquet.dict-encoding-enabled.column."
PARQUET_STATS_COLUMN_PREFIX = "write.parquet.stats-enabled.column."
AVRO_COMPRESSION = "write.avro.compression-codec"
AVRO_COMPRESSION_LEVEL = "write.avro.compression-level"
ORC_COMPRESSION = "write.orc.compression-codec"
ORC_COMPRESSION_STRATEGY = "write.orc.compression-strategy"
ORC_STRIPE_SIZE_BYTES = "write.orc.stripe-size-bytes"
ORC_BLOCK_SIZE_BYTES = "write.orc.block-size-bytes"

METRICS_MAX_INFERRED_COLUMNS = "write.metadata.metrics.max-inferred-column-defaults"
METRICS_MODE_COLUMN_PREFIX = "write.metadata.metrics.column."
DEFAULT_METRICS_MODE = "write.metadata.metrics.default"
METADATA_COMPRESSION = "write.metadata.compression-codec"
METADATA_PREVIOUS_VERSIONS_MAX = "write.metadata.previous-versions-max"
METADATA_DELETE_AFTER_COMMIT_ENABLED = "write.metadata.delete-after-commit.enabled"
WRITE_METADATA_PATH = "write.metadata.path"  # default: <location>/metadata
WRITE_DATA_PATH = "write.data.path"  # default: <location>/data
OBJECT_STORE_PATH = "write.object-storage.path"  # former name of write.data.path
FOLDER_STORAGE_PATH = "write.folder-storage.path"  # likewise
OBJECT_STORE_ENABLED = "write.object-storage.enabled"
OBJECT_STORE_PARTITIONED_PATHS = "write.object-storage.partitioned-paths"
WRITE_PARTITION_SUMMARY_LIMIT = "write.summary.partition-limit"
WRITE_DISTRIBUTION_MODE = "write.distribution-mode"
ADVISORY_PARTITION_SIZE_BYTES = "write.spark.advisory-partition-size-bytes"  # by the codecs
WRITE_FANOUT_ENABLED = "write.spark.fanout.enabled"
WRITE_ACCEPT_ANY_SCHEMA = "write.spark.accept-any-schema"
WRITE_WAP_ENABLED = "write.wap.enabled"
DEFAULT_NAME_MAPPING = "schema.name-mapping.default"

SPLIT_SIZE = "read.split.target-size"
METADATA_SPLIT_SIZE = "read.split.metadata-target-size"
SPLIT_LOOKBACK = "read.split.planning-lookback"
SPLIT_OPEN_FILE_COST = "read.split.open-file-cost"
DATA_PLANNING_MODE = "read.data-planning-mode"
DELETE_PLANNING_MODE = "read.delete-planning-mode"

DELETE_MODE = "write.delete.mode"
UPDATE_MODE = "write.update.mode"
MERGE_MODE = "write.merge.mode"
DELETE_ISOLATION_LEVEL = "write.delete.isolation-level"
UPDATE_ISOLATION_LEVEL = "write.update.isolation-level"
MERGE_ISOLATION_LEVEL = "write.merge.isolation-level"
DELETE_DISTRIBUTION_MODE = "write.delete.distribution-mode"
UPDATE_DISTRIBUTION_MODE = "write.update.distribution-mode"
MERGE_DISTRIBUTION_MODE = "write.merge.distribution-mode"
DELETE_GRANULARITY = "write.delete.granularity"
GC_ENABLED = "gc.enabled"
AUTO_COMPACT_ENABLED = "maintenance.auto-compact.enabled"
AUTO_COMPACT_MIN_FILES = "maintenance.auto-compact.min-files"
MAX_SNAPSHOT_AGE_MS = "history.expire.max-snapshot-age-ms"
MIN_SNAPSHOTS_TO_KEEP = "history.expire.min-snapshots-to-keep"
MAX_REF_AGE_MS = "history.expire.max-ref-age-ms"
CDC_TOMBSTONE_RETENTION = "cdc.tombstone-retention"
CDC_MISSING_LEDGER = "cdc.missing-ledger"

_MB = 1024 * 1024
DEFAULTS: Mapping[str, bool | int | str] = {
    FORMAT_VERSION: DEFAULT_FORMAT_VERSION,
    COMMIT_NUM_RETRIES: 4,
    COMMIT_MIN_RETRY_WAIT_MS: 100,
    COMMIT_MAX_RETRY_WAIT_MS: 60_000,
    COMMIT_TOTAL_RETRY_TIME_MS: 1_800_000,
    COMMIT_NUM_STATUS_CHECKS: 3,
    COMMIT_STATUS_CHECKS_MIN_WAIT_MS: 1_000,
    COMMIT_STATUS_CHECKS_MAX_WAIT_MS: 60_000,
    COMMIT_STATUS_CHECKS_TOTAL_WAIT_MS: 1_800_000,
    MANIFEST_TARGET_SIZE_BYTES: 8 * _MB,
    MANIFEST_MIN_MERGE_COUNT: 100,
    MANIFEST_MERGE_ENABLED: True,
    MANIFEST_COMPRESSION: "gzip",
    DEFAULT_FILE_FORMAT: "parquet",
    WRITE_TARGET_FILE_SIZE_BYTES: 512 * _MB,
    DELETE_TARGET_FILE_SIZE_BYTES: 64 * _MB,
    PARQUET_ROW_GROUP_SIZE_BYTES: 128 * _MB,
    PARQUET_PAGE_SIZE_BYTES: _MB,
    PARQUET_PAGE_VERSION: "v1",
    PARQUET_PAGE_ROW_LIMIT: 20_000,
    PARQUET_DICT_SIZE_BYTES: 2 * _MB,
    PARQUET_SHRED_VARIANTS: False,
    PARQUET_VARIANT_INFERENCE_ROWS: 100,
    PARQUET_COMPRESSION: "zstd",
    PARQUET_BLOOM_FILTER_MAX_BYTES: _MB,
    AVRO_COMPRESSION: "gzip",
    ORC_COMPRESSION: "zlib",
    ORC_COMPRESSION_STRATEGY: "speed",
    ORC_STRIPE_SIZE_BYTES: 64 * _MB,
    ORC_BLOCK_SIZE_BYTES: 256 * _MB,
    METRICS_MAX_INFERRED_COLUMNS: 100,
    DEFAULT_METRICS_MODE: "truncate(16)",
    METADATA_COMPRESSION: "none",
    METADATA_PREVIOUS_VERSIONS_MAX: 100,
    METADATA_DELETE_AFTER_COMMIT_ENABLED: False,
    OBJECT_STORE_ENABLED: False,
    OBJECT_STORE_PARTITIONED_PATHS: True,
    WRITE_PARTITION_SUMMARY_LIMIT: 0,
    WRITE_DISTRIBUTION_MODE: "none",
    WRITE_FANOUT_ENABLED: False,
    WRITE_ACCEPT_ANY_SCHEMA: False,
    WRITE_WAP_ENABLED: False,
    SPLIT_SIZE: 128 * _MB,
    METADATA_SPLIT_SIZE: 32 * _MB,
    SPLIT_LOOKBACK: 10,
    SPLIT_OPEN_FILE_COST: 4 * _MB,
    DATA_PLANNING_MODE: "auto",
    DELETE_PLANNING_MODE: "auto",
    DELETE_MODE: "copy-on-write",
    UPDATE_MODE: "copy-on-write",
    MERGE_MODE: "copy-on-write",
    DELETE_ISOLATION_LEVEL: "serializable",
    UPDATE_ISOLATION_LEVEL: "serializable",
    MERGE_ISOLATION_LEVEL: "serializable",
    DELETE_DISTRIBUTION_MODE: "hash",
    UPDATE_DISTRIBUTION_MODE: "hash",
    MERGE_DISTRIBUTION_MODE: "hash",
    DELETE_GRANULARITY: "file",
    GC_ENABLED: True,
    AUTO_COMPACT_ENABLED: False,
    AUTO_COMPACT_MIN_FILES: 10,
    MAX_SNAPSHOT_AGE_MS: 432_000_000,
    MIN_SNAPSHOTS_TO_KEEP: 1,
    MAX_REF_AGE_MS: (1 << 63) - 1,
    CDC_TOMBSTONE_RETENTION: "7 days",
    CDC_MISSING_LEDGER: "error",
}
_ROW_LEVEL = ("copy-on-write", "merge-on-read")
_ISOLATION = ("serializable", "snapshot")
_DISTRIBUTION = ("none", "hash", "range")
_FORMATS = ("parquet", "avro", "orc")
_PLANNING = ("auto", "local", "distributed")
POSITIVE = frozenset(
    {
        AUTO_COMPACT_MIN_FILES,
        MANIFEST_TARGET_SIZE_BYTES,
        METADATA_SPLIT_SIZE,
        MIN_SNAPSHOTS_TO_KEEP,
        SPLIT_LOOKBACK,
        SPLIT_SIZE,
        WRITE_TARGET_FILE_SIZE_BYTES,
    }
)
"""Numbers that must be above 0."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    DEFAULT_FILE_FORMAT: _FORMATS,
    DELETE_DEFAULT_FILE_FORMAT: _FORMATS,
    METADATA_COMPRESSION: ("none", "gzip"),
    WRITE_DISTRIBUTION_MODE: _DISTRIBUTION,
    DELETE_DISTRIBUTION_MODE: _DISTRIBUTION,
    UPDATE_DISTRIBUTION_MODE: _DISTRIBUTION,
    MERGE_DISTRIBUTION_MODE: _DISTRIBUTION,
    DELETE_MODE: _ROW_LEVEL,
    UPDATE_MODE: _ROW_LEVEL,
    MERGE_MODE: _ROW_LEVEL,
    DELETE_ISOLATION_LEVEL: _ISOLATION,
    UPDATE_ISOLATION_LEVEL: _ISOLATION,
    MERGE_ISOLATION_LEVEL: _ISOLATION,
    DELETE_GRANULARITY: ("file", "partition"),
    DATA_PLANNING_MODE: _PLANNING,
    DELETE_PLANNING_MODE: _PLANNING,
    CDC_MISSING_LEDGER: ("error", "forget"),
}


def text_property(properties: Mapping[str, str], key: str, default: str | None = None) -> str:
    """Return a property's text, its default where it is not set.

    Raises InvalidOptionError for a text that is not one of the property's choices.
    """
    value = properties.get(key)
    if value is None:
        return str(DEFAULTS[key]) if default is None else default
    choices = CHOICES.get(key)
    if choices is not None and value.lower() not in choices:
        raise InvalidOptionError(
            f"Table property '{key}' is '{value}'; it must be one of: {', '.join(choices)}"
        )
    return value.lower() if choices is not None else value


def int_property(properties: Mapping[str, str], key: str, default: int | None = None) -> int:
    """Return a property as an integer. Raises InvalidOptionError for another text."""
    value = properties.get(key)
    if value is None:
        return int(DEFAULTS[key]) if default is None else default
    try:
        return int(value)
    except ValueError as cause:
        raise InvalidOptionError(
            f"Table property '{key}' is '{value}'; it must be an integer"
        ) from cause


def positive_property(properties: Mapping[str, str], key: str) -> int:
    """Return a property as an integer above 0. Raises InvalidOptionError for anything else."""
    value = int_property(properties, key)
    if value < 1:
        raise InvalidOptionError(f"Table property '{key}' is '{value}'; it must be at least 1")
    return value


def bool_property(properties: Mapping[str, str], key: str, default: bool | None = None) -> bool:
    """Return a property as true or false; like Java, any text but "true" is false."""
    value = properties.get(key)
    if value is None:
        return bool(DEFAULTS[key]) if default is None else default
    return value.lower() == "true"


def duration_property(properties: Mapping[str, str], key: str) -> int:
    """Return a duration property in ms. Raises InvalidOptionError."""
    value = text_property(properties, key)
    duration = duration_ms(value)
    if duration is None:
        raise InvalidOptionError(
            f"Table property '{key}' is '{value}'; it must be a length of time, as '7 days', "
            "'12 hours', '30 minutes', '10 seconds', or a number of ms"
        )
    return duration


def with_prefix(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the properties that start with the prefix, without it."""
    return {
        key.removeprefix(prefix): value
        for key, value in properties.items()
        if key.startswith(prefix)
    }


def check_known_values(properties: Mapping[str, str]) -> None:
    """Check properties that a table is about to get.

    Raises InvalidOptionError for a reserved name, a value that is not text, a bad value of a
    property that has a type or choices, or a secret.
    """
    check_not_reserved(properties)
    for key, value in properties.items():
        if not isinstance(value, str):
            raise InvalidOptionError(f"Table property '{key}' must be text, not {value!r}")
        match DEFAULTS.get(key):
            case bool():
                _check_bool(key, value)
            case int() if key in POSITIVE:
                positive_property(properties, key)
            case int():
                if int_property(properties, key) < 0:
                    raise InvalidOptionError(
                        f"Table property '{key}' is '{value}'; it must not be negative"
                    )
            case _ if key == CDC_TOMBSTONE_RETENTION:
                duration_property(properties, key)
            case _:
                text_property(properties, key, "")
    check_stored(properties)


def _check_bool(key: str, value: str) -> None:
    if value.lower() not in ("true", "false"):
        raise InvalidOptionError(f"Table property '{key}' is '{value}'; it must be true or false")


def check_not_reserved(keys: Iterable[str]) -> None:
    """Refuse names that the table's metadata has another place for. Raises InvalidOptionError."""
    for key in keys:
        if key == FORMAT_VERSION:
            raise InvalidOptionError(
                f"'{key}' is not stored as a property; it is set on creation or by an upgrade"
            )
        if key in RESERVED:
            raise InvalidOptionError(f"Table property '{key}' is reserved and can't be set")


_SECOND = 1_000
_UNITS = {
    "ms": 1, "millisecond": 1, "s": _SECOND, "sec": _SECOND, "second": _SECOND,
    "min": 60 * _SECOND, "minute": 60 * _SECOND, "h": 3_600 * _SECOND, "hour": 3_600 * _SECOND,
    "d": 86_400 * _SECOND, "day": 86_400 * _SECOND, "week": 604_800 * _SECOND,
}  # fmt: skip
_TEXT = re.compile(r"(?:interval\s+)?(\d{1,15})\s*([a-z]*)", re.IGNORECASE)


def duration_ms(text: str) -> int | None:
    """Return a length of time in ms: "7 days", "interval 12 hours", "500 ms"; a number is ms.

    None for another text.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        return None
    unit = match.group(2).lower()
    factor = _UNITS.get(unit or "ms", _UNITS.get(unit.removesuffix("s")))
    return None if factor is None else int(match.group(1)) * factor


_SPACES = ("commit.", "history.", "read.", "write.")
_PROPERTIES = frozenset((
    "write.delete.format.default", "write.metadata.metrics.max-inferred-column-defaults",
    "commit.manifest-merge.enabled", "commit.manifest.min-count-to-merge",
    "commit.manifest.target-size-bytes", "commit.retry.max-wait-ms", "commit.retry.min-wait-ms",
    "commit.retry.num-retries", "commit.retry.total-timeout-ms",
    "commit.status-check.max-wait-ms", "commit.status-check.min-wait-ms",
    "commit.status-check.num-retries", "commit.status-check.total-timeout-ms",
    "history.expire.max-ref-age-ms", "history.expire.max-snapshot-age-ms",
    "history.expire.min-snapshots-to-keep", "read.data-planning-mode",
    "read.delete-planning-mode", "read.orc.vectorization.batch-size",
    "read.orc.vectorization.enabled", "read.parquet.vectorization.batch-size",
    "read.parquet.vectorization.enabled", "read.split.adaptive-size.enabled",
    "read.split.metadata-target-size", "read.split.open-file-cost",
    "read.split.planning-lookback", "read.split.target-size", "write.avro.compression-codec",
    "write.avro.compression-level", "write.data.path", "write.delete.avro.compression-codec",
    "write.delete.avro.compression-level", "write.delete.distribution-mode",
    "write.delete.granularity", "write.delete.isolation-level", "write.delete.mode",
    "write.delete.orc.block-size-bytes", "write.delete.orc.compression-codec",
    "write.delete.orc.compression-strategy", "write.delete.orc.stripe-size-bytes",
    "write.delete.orc.vectorized.batch-size", "write.delete.parquet.compression-codec",
    "write.delete.parquet.compression-level", "write.delete.parquet.dict-size-bytes",
    "write.delete.parquet.page-row-limit", "write.delete.parquet.page-size-bytes",
    "write.delete.parquet.page-version",
    "write.delete.parquet.row-group-check-max-record-count",
    "write.delete.parquet.row-group-check-min-record-count",
    "write.delete.parquet.row-group-size-bytes", "write.delete.target-file-size-bytes",
    "write.distribution-mode", "write.folder-storage.path", "write.format.default",
    "write.location-provider.impl", "write.manifest.compression-codec",
    "write.manifest.compression-level", "write.merge.distribution-mode",
    "write.merge.isolation-level", "write.merge.mode", "write.metadata.compression-codec",
    "write.metadata.delete-after-commit.enabled", "write.metadata.metrics.column.",
    "write.metadata.metrics.default", "write.metadata.path",
    "write.metadata.previous-versions-max", "write.object-storage.enabled",
    "write.object-storage.partitioned-paths", "write.object-storage.path",
    "write.orc.block-size-bytes", "write.orc.bloom.filter.columns",
    "write.orc.bloom.filter.fpp", "write.orc.compression-codec",
    "write.orc.compression-strategy", "write.orc.stripe-size-bytes",
    "write.orc.vectorized.batch-size", "write.parquet.bloom-filter-adaptive-enabled",
    "write.parquet.bloom-filter-enabled.column.", "write.parquet.bloom-filter-fpp.column.",
    "write.parquet.bloom-filter-max-bytes", "write.parquet.bloom-filter-ndv.column.",
    "write.parquet.compression-codec", "write.parquet.compression-level",
    "write.parquet.dict-encoding-enabled.column.", "write.parquet.dict-size-bytes",
    "write.parquet.page-row-limit", "write.parquet.page-size-bytes",
    "write.parquet.page-version", "write.parquet.row-group-check-max-record-count",
    "write.parquet.row-group-check-min-record-count", "write.parquet.row-group-size-bytes",
    "write.parquet.row-group-size-track-uncompressed", "write.parquet.shred-variants",
    "write.parquet.stats-enabled.column.", "write.parquet.variant-inference-buffer-size",
    "write.spark.accept-any-schema", "write.spark.advisory-partition-size-bytes",
    "write.spark.auto-schema-evolution.enabled", "write.spark.fanout.enabled",
    "write.summary.partition-limit", "write.target-file-size-bytes",
    "write.update.distribution-mode", "write.update.isolation-level", "write.update.mode",
    "write.upsert.enabled", "write.wap.enabled",
))  # fmt: skip
"""Every name in these spaces; those that end with a dot are followed by a column's name."""

_COLUMNS = tuple(name for name in _PROPERTIES if name.endswith("."))


def property_warnings(properties: Mapping[str, str]) -> list[str]:
    """Return a warning for each property without effect or with files that few engines can read.

    Unknown properties are allowed, because engines define their own; Java does not warn at all.
    """
    unknown = [
        _warning(name) for name in properties if name.startswith(_SPACES) and not _is_known(name)
    ]
    rare = [name for name in _PARQUET_CODECS if properties.get(name, "").lower() == "brotli"]
    return unknown + [f"Table property '{name}' = 'brotli': {_BROTLI}" for name in rare]


_PARQUET_CODECS = ("write.parquet.compression-codec", "write.delete.parquet.compression-codec")
_BROTLI = (
    "Spark's Parquet reader and Java's Iceberg lack that codec; 'zstd' compresses as well, and "
    "all engines read it"
)


def _is_known(name: str) -> bool:
    return name in _PROPERTIES or name.startswith(_COLUMNS)


def _warning(name: str) -> str:
    close = nearest(name, _PROPERTIES)
    meant = f"; did you mean '{close}'?" if close else ""
    return f"Table property '{name}' is unknown to Iceberg and has no effect here{meant}"
