"""Spark's own Parquet writer: its options, and its files in a folder of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from iceberg_spark.formats.file_writer import WriterProperties
from iceberg_spark.formats.parquet_writer import parquet_options
from iceberg_spark.io import location
from iceberg_spark.spec import properties as names
from iceberg_spark.spec.properties import prefixed

_CODECS = {"none": "uncompressed", "lz4": "lz4_raw"}
_PAGE_VERSIONS = {"v1": "PARQUET_1_0", "v2": "PARQUET_2_0"}
_COMMIT: Mapping[str, str] = {
    "mapreduce.fileoutputcommitter.algorithm.version": "1",  # nothing shows before all is there
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "parquet.summary.metadata.level": "NONE",
    # Hadoop's checksummed local files have checksum files that other writers do not update.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}


def spark_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's Parquet writer for a table's `write.parquet.*` properties.

    Raises InvalidOptionError naming a property with a bad value.
    """
    writer_properties = WriterProperties(properties)
    encoding = parquet_options(writer_properties)
    block = writer_properties.positive_int(
        "parquet.row-group-size-bytes", int(names.DEFAULTS[names.PARQUET_ROW_GROUP_SIZE_BYTES])
    )
    rows = writer_properties.positive_int(
        "parquet.page-row-limit", int(names.DEFAULTS[names.PARQUET_PAGE_ROW_LIMIT])
    )
    version = writer_properties.text("parquet.page-version", "v1").lower()
    options = {
        **_COMMIT,
        "compression": _CODECS.get(encoding.codec, encoding.codec),
        "parquet.block.size": str(block),
        "parquet.page.size": str(encoding.page_bytes),
        "parquet.page.row.count.limit": str(rows),
        "parquet.dictionary.page.size": str(encoding.dictionary_bytes),
        "parquet.writer.version": _PAGE_VERSIONS.get(version, "PARQUET_1_0"),
    }
    if encoding.codec == "zstd" and encoding.level is not None:
        options["parquet.compression.codec.zstd.level"] = str(encoding.level)
    for column, text in prefixed(properties, names.PARQUET_DICT_COLUMN_PREFIX).items():
        options[f"parquet.enable.dictionary#{column}"] = text.strip().lower()
    for column, text in prefixed(properties, names.PARQUET_BLOOM_FILTER_COLUMN_PREFIX).items():
        options[f"parquet.bloom.filter.enabled#{column}"] = text.strip().lower()
    if names.PARQUET_BLOOM_FILTER_MAX_BYTES in properties:
        max_bytes = names.int_property(properties, names.PARQUET_BLOOM_FILTER_MAX_BYTES)
        options["parquet.bloom.filter.max.bytes"] = str(max_bytes)
    return options


def write_parquet(
    frame: DataFrame,
    folder: str,
    properties: Mapping[str, str],
    keys: Sequence[str],
    rows_per_file: int | None,
) -> None:
    """Write a frame to a new folder, one folder below it for each combination of `keys`.

    To be called within `write_settings`. When it returns, the folder holds the files of the
    committed task attempts alone. A file is ended at `rows_per_file`, None for never.
    """
    writer = frame.write.mode("append").options(**spark_options(properties))
    # Said even when there is no limit: the session may have one.
    writer = writer.option("maxRecordsPerFile", str(rows_per_file or 0))
    if keys:
        writer = writer.partitionBy(*keys)
    path = f"file:{location.strip_scheme(folder)}" if location.is_local(folder) else folder
    writer.parquet(path)
