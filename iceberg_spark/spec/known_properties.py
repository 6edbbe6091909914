"""Names of the table properties of Iceberg, to detect misspelt ones (Java: TableProperties)."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.spec.nearest import nearest

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
