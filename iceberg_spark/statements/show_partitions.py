"""SHOW PARTITIONS: what Spark refuses for Iceberg's tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.arrow.values import from_array
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.inspect.partitions import partition_sums
from iceberg_spark.inspect.schemas import partition_struct
from iceberg_spark.scan.snapshot_choice import SnapshotChoice, choose_snapshot
from iceberg_spark.spark.adapt.types import to_spark, type_text
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.error_conditions import NO_PARTITION_MANAGEMENT, with_condition
from iceberg_spark.spark.sql.statements.listings import ShowPartitions
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.partition_path import escape, part_path
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import NestedField, StringType
from iceberg_spark.statements.answers import row_of, rows_of
from iceberg_spark.statements.partition_values import check_once, check_types
from iceberg_spark.statements.target import target
from iceberg_spark.write.align_columns import AlignOptions, align_batches


@dataclass(frozen=True, slots=True)
class _Part:
    """A partition field, its values' type, and its index among all fields of the table's specs."""

    field: PartitionField
    kind: NestedField
    index: int

    @property
    def is_plain(self) -> bool:
        """Whether its values are those of a column; PARTITION has others as texts."""
        return isinstance(self.field.transform, IdentityTransform)

    @property
    def value_field(self) -> NestedField:
        """The field whose type values in PARTITION have."""
        kind = self.kind.field_type if self.is_plain else StringType()
        return NestedField(self.field.field_id, self.field.name, kind)

    def path(self, value: Any) -> str:  # a canonical value of the type
        """Return a value's part of a partition path."""
        return part_path(self.field, self.kind.field_type, value)

    def text_path(self, text: str) -> str:
        """Return the part of a partition path for the value with this text."""
        return f"{escape(self.field.name)}={escape(text)}"


def show_partitions(spark: SparkSession, statement: ShowPartitions) -> DataFrame:
    """Show the partitions with data files, as their paths: partition.

    Each is `name=value/...` by the spec of its files, "" if they are not partitioned, sorted by
    text. Raises UnsupportedError if the table is not partitioned, InvalidInputError for a name in
    PARTITION that is not a partition field, and for a value outside its type.
    """
    table_target = target(spark, statement.table)
    table = table_target.table()
    metadata = table.metadata
    if table.spec().is_unpartitioned:
        error = UnsupportedError(f"SHOW PARTITIONS: {'.'.join(statement.table)} is not partitioned")
        raise with_condition(error, NO_PARTITION_MANAGEMENT)
    expected = _partition_filter(spark, statement, metadata)
    head = choose_snapshot(metadata, SnapshotChoice(branch=table_target.branch)).snapshot_id
    shown: set[str] = set()
    if head is not None:
        for sums in partition_sums(metadata, table.io, metadata.snapshot(head)):
            spec = metadata.partition_specs[sums.column("spec_id")[0].as_py()]
            with_data = sums.filter(pc.greater(sums.column("file_count"), 0))
            tuples = concat(with_data.column("partition"))
            shown.update(_paths(tuples, _parts(spec, metadata), expected))
    return rows_of(spark, "partition string", [(path,) for path in sorted(shown)])


def _parts(spec: PartitionSpec, metadata: TableMetadata) -> list[_Part]:
    """Return the live fields of a spec whose source columns the table still has."""
    every = {
        field.field_id: (field, index)
        for index, field in enumerate(partition_struct(metadata).fields)
    }
    return [
        _Part(part, *every[part.field_id]) for part in spec.live_fields if part.field_id in every
    ]


def _paths(
    tuples: pa.StructArray, parts: list[_Part], expected: Mapping[str, tuple[bool, str]]
) -> list[str]:
    """Return the paths of those tuples that have the expected values.

    Each field's distinct values are formatted once: a table has far more partitions than days.
    """
    if not expected.keys() <= {part.field.name for part in parts}:
        return []
    keep = pa.repeat(pa.scalar(True), len(tuples))
    columns = [pa.repeat("", len(tuples))] if not parts else []
    for part in parts:
        values = tuples.field(part.index).dictionary_encode(null_encoding="encode")
        entries = [
            (value is None, part.path(value))
            for value in from_array(part.kind.field_type, values.dictionary)
        ]
        if part.field.name in expected:
            fits = pa.array([entry == expected[part.field.name] for entry in entries], pa.bool_())
            keep = pc.and_(keep, fits.take(values.indices))
        paths = pa.array([path for _, path in entries], pa.string())
        columns.append(paths.take(values.indices))
    joined: list[str] = pc.binary_join_element_wise(*columns, "/").filter(keep).to_pylist()
    return joined


def _partition_filter(
    spark: SparkSession, statement: ShowPartitions, metadata: TableMetadata
) -> dict[str, tuple[bool, str]]:
    """Return the values of PARTITION (...) by the fields' own names: whether null, and the path.

    A value of an identity field is cast to the column's type, as INSERT does. That of another
    transform is its text (`2024-01` of a month).
    """
    if not statement.partition:
        return {}
    specs = (*metadata.partition_specs.values(), metadata.spec)  # a name means the newest field
    parts = {part.field.name: part for spec in specs for part in _parts(spec, metadata)}
    case = is_case_sensitive(spark)
    typed_texts: dict[str, tuple[str, DataType]] = {}
    names = [_own_name(name, parts, case_sensitive=case) for name, _ in statement.partition]
    check_once(names)
    for name, (_, text) in zip(names, statement.partition, strict=True):
        if text is None:
            raise InvalidInputError(f"PARTITION ({name}): a value is needed, {name} = ...")
        typed_texts[name] = (text, _spark_type(parts[name].value_field))
    check_types(spark, typed_texts)
    casts = {
        name: f"CAST({text} AS {type_text(kind)})" for name, (text, kind) in typed_texts.items()
    }
    return _filter_values([parts[name] for name in names], row_of(spark, casts))


def _filter_values(parts: list[_Part], constants: pa.Table) -> dict[str, tuple[bool, str]]:
    schema = Schema(*(part.value_field for part in parts))
    (row,) = align_batches(schema, constants.to_batches(), AlignOptions())
    expected = {}
    for part, column in zip(parts, row.columns, strict=True):
        (value,) = from_array(part.value_field.field_type, column)
        path = part.path(value) if part.is_plain or value is None else part.text_path(value)
        expected[part.field.name] = (value is None, path)
    return expected


def _spark_type(field: NestedField) -> DataType:
    return to_spark(Schema(field)).fields[0].dataType


def _own_name(name: str, parts: Mapping[str, object], *, case_sensitive: bool) -> str:
    """Return a partition field's own name. Raises InvalidInputError."""
    if name in parts:
        return name
    matches = (
        []
        if case_sensitive
        else [part_name for part_name in parts if part_name.lower() == name.lower()]
    )
    if len(matches) != 1:
        raise InvalidInputError(f"PARTITION ({name}): the partition fields are {sorted(parts)}")
    return matches[0]
