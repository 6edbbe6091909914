"""What a write takes from a table, and tables that it refuses by name."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, NullOrder, SortDirection, SortField, SortOrder
from iceberg_spark.spec.transforms import IdentityTransform, UnknownTransform
from iceberg_spark.spec.types import (
    LongType,
    NestedField,
    StringType,
)
from iceberg_spark.write.new_write import write_context

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "s", StringType()))


def table(
    schema: Schema = SCHEMA, order: SortOrder = UNSORTED, version: int = 2, **properties: str
) -> TableMetadata:
    given = {key.replace("__", "."): value for key, value in properties.items()}
    return replace(
        new_metadata(schema, UNPARTITIONED, order, location="/t", now_ms=1),
        properties=given,
        format_version=version,
    )


def test_defaults() -> None:
    context = write_context(table())
    assert context.file_format is context.delete_format is FileFormat.PARQUET
    assert context.target_file_size_bytes == 512 * 1024 * 1024
    assert context.fanout
    assert context.sort_order_id == 0
    assert context.table_location == "/t"
    assert len(context.write_id) == 36


def test_table_properties_decide_and_options_decide_over_them() -> None:
    metadata = table(
        write__format__default="orc",
        **{"write.delete.format.default": "avro", "write.target-file-size-bytes": "1000"},
    )
    context = write_context(metadata)
    assert (context.file_format, context.delete_format) == (FileFormat.ORC, FileFormat.AVRO)
    assert context.target_file_size_bytes == 1000
    context = write_context(metadata, write_format="PARQUET", target_file_size_bytes=7)
    assert (context.file_format, context.target_file_size_bytes) == (FileFormat.PARQUET, 7)


def test_delete_files_have_the_data_format_by_default() -> None:
    assert write_context(table(write__format__default="avro")).delete_format is FileFormat.AVRO


def test_compression_options_become_the_formats_properties() -> None:
    context = write_context(table(), compression_codec="gzip", compression_level="5")
    assert context.properties["write.parquet.compression-codec"] == "gzip"
    assert context.properties["write.parquet.compression-level"] == "5"


def test_only_properties_of_writing_travel() -> None:
    metadata = table(**{"owner": "me", "write.x": "1", "commit.retry.num-retries": "3"})
    assert dict(write_context(metadata).properties) == {"write.x": "1"}


def test_sorted_columns_get_bounds_even_where_the_default_is_counts() -> None:
    key = SortField((2,), IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_FIRST)
    metadata = table(order=SortOrder(1, (key,)), **{"write.metadata.metrics.default": "counts"})
    assert write_context(metadata).properties["write.metadata.metrics.column.s"] == "truncate(16)"


def test_a_context_is_small_and_can_be_pickled() -> None:
    context = write_context(table())
    assert pickle.loads(pickle.dumps(context)) == context
    assert len(pickle.dumps(context)) < 4000


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"write_format": "csv"}, "csv"),
        ({"target_file_size_bytes": 0}, "target-file-size-bytes"),
        ({"write_format": "avro", "compression_level": 3}, "compression-level"),
    ],
)
def test_a_bad_option_is_refused_by_name(option: dict, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        write_context(table(), **option)


def test_an_unknown_transform_is_refused_by_name() -> None:
    spec = PartitionSpec(1, (PartitionField((1,), 1000, UnknownTransform("zorder"), "z"),))
    metadata = replace(table(), partition_specs={1: spec}, default_spec_id=1)
    with pytest.raises(UnsupportedError, match="zorder"):
        write_context(metadata)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("write.location-provider.impl", UnsupportedError),
        ("write.folder-storage.path", InvalidOptionError),
        ("write.object-storage.path", InvalidOptionError),
    ],
)
def test_properties_that_name_files_otherwise_are_refused(key: str, error: type) -> None:
    with pytest.raises(error, match=key):
        write_context(table(**{key: "x"}))


@pytest.mark.parametrize(
    "given",
    [
        {"write.parquet.compression-codec": "brotli7"},
        {"write.parquet.compression-level": "99"},
        {"write.parquet.page-size-bytes": "0"},
        {"write.format.default": "orc", "write.orc.compression-codec": "x"},
    ],
)
def test_bad_encoding_properties_are_refused_before_any_task_starts(given) -> None:
    with pytest.raises(InvalidOptionError, match=list(given)[-1]):
        write_context(table(**given))
