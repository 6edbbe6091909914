"""Settings of Spark that a session may have and that no row may depend on."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_LEFT_ALONE = (
    "spark.sql.analyzer.singlePassResolver",  # plain Spark resolves less with it
    "spark.sql.streaming", "spark.sql.thriftserver", "spark.sql.hive", "spark.sql.connect",
    "spark.sql.test", "spark.sql.ui",
)  # fmt: skip
_RULES = (
    "ColumnPruning", "PushDownPredicates", "ConstantFolding", "CollapseProject", "CombineFilters",
    "BooleanSimplification", "SimplifyCasts", "NullPropagation", "PruneFilters", "OptimizeIn",
    "NestedColumnAliasing", "SimplifyConditionals", "ConvertToLocalRelation",
    "InferFiltersFromConstraints", "UnwrapCastInBinaryComparison", "PropagateEmptyRelation",
)  # fmt: skip
_RULE_NAMES = ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _RULES)

VALUES: dict[str, tuple[str, ...]] = {
    "spark.sql.adaptive.optimizer.excludedRules": (
        "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    ),
    "spark.sql.autoBroadcastJoinThreshold": ("-1", "1"),
    "spark.sql.codegen.factoryMode": ("NO_CODEGEN",),
    "spark.sql.codegen.maxFields": ("1",),
    "spark.sql.execution.arrow.maxRecordsPerBatch": ("1",),
    "spark.sql.files.maxPartitionBytes": ("300", "700", "4096"),
    "spark.sql.files.minPartitionNum": ("9",),
    "spark.sql.files.openCostInBytes": ("1",),
    "spark.sql.legacy.timeParserPolicy": ("LEGACY", "EXCEPTION"),
    "spark.sql.mapKeyDedupPolicy": ("LAST_WIN",),
    "spark.sql.optimizer.excludedRules": (_RULE_NAMES,),
    "spark.sql.parquet.columnarReaderBatchSize": ("1", "3"),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("LEGACY", "EXCEPTION"),
    "spark.sql.parquet.int96RebaseModeInRead": ("LEGACY", "EXCEPTION"),
    "spark.sql.parquet.outputTimestampType": ("INT96", "TIMESTAMP_MILLIS"),
    "spark.sql.parquet.pushdown.inFilterThreshold": ("0", "1"),
    "spark.sql.session.timeZone": (
        "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "+14:00",
    ),
    "spark.sql.shuffle.partitions": ("1", "7"),
    "spark.sql.sources.default": ("csv",),
    "spark.sql.sources.parallelPartitionDiscovery.threshold": ("0",),
    "spark.sql.sources.useV1SourceList": ("",),
    "spark.sql.storeAssignmentPolicy": ("LEGACY", "STRICT"),
    "spark.sql.timestampType": ("TIMESTAMP_NTZ",),
    "fs.defaultFS": ("hdfs://nowhere:1",),
    "parquet.filter.columnindex.enabled": ("false",),
    "parquet.filter.stats.enabled": ("false",),
    "parquet.filter.record-level.enabled": ("true",),
    "parquet.page.verify-checksum.enabled": ("true",),
}  # fmt: skip


def every_setting(spark: Any) -> dict[str, tuple[str, ...]]:
    """Return hostile values by key: VALUES, and each switch that Spark knows turned over."""
    known = getattr(getattr(spark._jvm, "org.apache.spark.sql.internal.SQLConf$"), "MODULE$")
    entries = known.getConfigEntries().iterator()
    found = dict(VALUES)
    while entries.hasNext():
        entry = entries.next()
        key, default = entry.key(), entry.defaultValueString()
        is_switch = default in ("true", "false") and not key.startswith(_LEFT_ALONE)
        if is_switch and spark.conf.isModifiable(key):
            found[key] = ("false" if default == "true" else "true",)
    return dict(sorted(found.items()))


def bundle(pick: random.Random, known: dict[str, tuple[str, ...]], size: int) -> dict[str, str]:
    """Return some settings at once, each with one of its hostile values."""
    return {key: pick.choice(known[key]) for key in pick.sample(sorted(known), size)}


@contextmanager
def settings(session: Any, values: dict[str, str]) -> Iterator[None]:
    """Hold settings in a session while a block runs."""
    before = {key: session.conf.get(key, None) for key in values}
    try:
        _set(session, values)
        yield
    finally:
        _set(session, before)


def _set(session: Any, values: Mapping[str, str | None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # over Connect old settings are warned of
        for key, value in values.items():
            session.conf.unset(key) if value is None else session.conf.set(key, value)


WRITE_VALUES: dict[str, tuple[str, ...]] = {
    "parquet.block.size": ("1024",),
    "parquet.bloom.filter.enabled": ("true",),
    "parquet.columnindex.truncate.length": ("1",),
    "parquet.compression": ("GZIP",),
    "parquet.enable.dictionary": ("false",),
    "parquet.enable.summary-metadata": ("true",),
    "parquet.page.row.count.limit": ("1",),
    "parquet.page.size": ("64",),
    "parquet.page.write-checksum.enabled": ("false",),
    "parquet.statistics.truncate.length": ("1",),
    "parquet.writer.version": ("v2",),
    "mapreduce.fileoutputcommitter.algorithm.version": ("2",),
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": ("true",),
    "spark.sql.adaptive.enabled": ("false",),
    "spark.sql.ansi.doubleQuotedIdentifiers": ("true",),
    "spark.sql.ansi.enabled": ("false",),
    "spark.sql.autoBroadcastJoinThreshold": ("-1",),
    "spark.sql.caseSensitive": ("true",),
    "spark.sql.codegen.wholeStage": ("false",),
    "spark.sql.execution.arrow.maxRecordsPerBatch": ("1",),
    "spark.sql.execution.arrow.pyspark.enabled": ("false",),
    "spark.sql.files.maxRecordsPerFile": ("1",),
    "spark.sql.legacy.timeParserPolicy": ("LEGACY",),
    "spark.sql.optimizer.plannedWrite.enabled": ("false",),
    "spark.sql.parquet.compression.codec": ("gzip", "uncompressed", "zstd"),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("LEGACY", "EXCEPTION"),
    "spark.sql.parquet.datetimeRebaseModeInWrite": ("LEGACY", "EXCEPTION"),
    "spark.sql.parquet.fieldId.write.enabled": ("false",),
    "spark.sql.parquet.int96RebaseModeInWrite": ("LEGACY",),
    "spark.sql.parquet.outputTimestampType": ("INT96", "TIMESTAMP_MILLIS"),
    "spark.sql.parquet.writeLegacyFormat": ("true",),
    "spark.sql.parser.escapedStringLiterals": ("true",),
    "spark.sql.parser.quotedRegexColumnNames": ("true",),
    "spark.sql.session.timeZone": ("America/New_York", "Pacific/Apia", "Asia/Kathmandu"),
    "spark.sql.sources.default": ("csv",),
    "spark.sql.sources.partitionOverwriteMode": ("dynamic",),
    "spark.sql.sources.useV1SourceList": ("",),
    "spark.sql.storeAssignmentPolicy": ("STRICT", "LEGACY"),
    "spark.sql.timestampType": ("TIMESTAMP_NTZ",),
}  # fmt: skip
"""What Spark's Parquet writer and row-level changes could obey."""
