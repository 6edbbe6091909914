"""SHOW PARTITIONS: what Spark refuses for Iceberg's tables."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.statements.answers import rows_of, values_of
from iceberg_spark.api.statements.target import target
from iceberg_spark.arrow.arrays import concat
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.arrow.values import from_array
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.inspect.schemas import partition_struct
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.sql.statements.listings import ShowPartitions
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.partition_path import escape, human_text
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform, VoidTransform
from iceberg_spark.spec.types import NestedField

_NULL = "null"


def show_partitions(spark: SparkSession, statement: ShowPartitions) -> DataFrame:
    """Show the partitions that have data files, as their paths are written: partition.

    Each is `name=value/...` of the spec that its files have, "" for files of none, in the order
    of the texts. Raises UnsupportedError where the table is not partitioned, InvalidInputError
    for a name in PARTITION that is no partition field's.
    """
    goes = target(spark, statement.table)
    table = goes.table()
    metadata = table.metadata
    if not _fields(table.spec()):
        raise UnsupportedError(f"SHOW PARTITIONS: {'.'.join(statement.table)} is not partitioned")
    wanted = _wanted(spark, statement, metadata)
    listed = table.inspect.partitions(ref=goes.branch)
    listed = listed.filter(pc.greater(listed.column("file_count"), 0))
    shown: set[str] = set()
    for spec_id, spec in metadata.partition_specs.items():
        rows = listed.filter(pc.equal(listed.column("spec_id"), spec_id))
        if rows.num_rows:
            shown.update(_texts(concat(rows.column("partition")), spec, metadata, wanted))
    return rows_of(spark, "partition string", [(text,) for text in sorted(shown)])


def _fields(spec: PartitionSpec) -> list[PartitionField]:
    return [part for part in spec.fields if not isinstance(part.transform, VoidTransform)]


def _texts(
    tuples: pa.StructArray,
    spec: PartitionSpec,
    metadata: TableMetadata,
    wanted: Mapping[str, str | None],
) -> list[str]:
    """Return the texts of those tuples of a spec that have the wanted values.

    Each field's distinct values are written once: a table has far more partitions than days.
    """
    places = {one.field_id: (at, one) for at, one in enumerate(partition_struct(metadata).fields)}
    parts = [part for part in _fields(spec) if part.field_id in places]
    if not wanted.keys() <= {part.name for part in parts}:
        return []
    keep = pa.repeat(pa.scalar(True), len(tuples))
    columns = []
    for part in parts:
        at, kind = places[part.field_id]
        values = tuples.field(at).dictionary_encode(null_encoding="encode")
        texts = [
            None if value is None else human_text(part.transform, kind.field_type, value)
            for value in from_array(kind.field_type, values.dictionary)
        ]
        if part.name in wanted:
            fits = pa.array([text == wanted[part.name] for text in texts], pa.bool_())
            keep = pc.and_(keep, fits.take(values.indices))
        written = [
            f"{escape(part.name)}={_NULL if text is None else escape(text)}" for text in texts
        ]
        columns.append(pa.array(written, pa.string()).take(values.indices))
    if not columns:
        return [""]
    joined = pc.binary_join_element_wise(*columns, "/")
    found: list[str] = joined.filter(keep).to_pylist()
    return found


def _wanted(
    spark: SparkSession, statement: ShowPartitions, metadata: TableMetadata
) -> dict[str, str | None]:
    """Return the values of PARTITION (...) as texts, None for NULL, by the fields' own names.

    A value of a column as it is, is cast to the column's type, as INSERT does; that of a
    transform is its text (`2024-01` of a month).
    """
    kinds = {one.field_id: one for one in partition_struct(metadata).fields}
    parts = {
        part.name: (part, kinds[part.field_id])
        for spec in metadata.partition_specs.values()
        for part in _fields(spec)
        if part.field_id in kinds
    }
    names = [_spelt(name, parts) for name, _ in statement.partition]
    expressions = []
    for name, (_, text) in zip(names, statement.partition, strict=True):
        part, kind = parts[name]
        if text is None:
            raise InvalidInputError(f"PARTITION ({name}): a value is needed, {name} = ...")
        plain = isinstance(part.transform, IdentityTransform)
        asked = _spark_name(kind) if plain else "string"
        expressions.append(f"CAST({text} AS {asked})")
    return {
        name: _as_text(*parts[name], value)
        for name, value in zip(names, values_of(spark, expressions), strict=True)
    }


def _spark_name(kind: NestedField) -> str:
    return to_spark(Schema(kind)).fields[0].dataType.simpleString()


def _as_text(part: PartitionField, kind: NestedField, value: object) -> str | None:
    if value is None or not isinstance(part.transform, IdentityTransform):
        return None if value is None else str(value)
    stored = from_array(kind.field_type, pa.array([value], to_arrow_type(kind.field_type)))
    return human_text(part.transform, kind.field_type, stored[0])


def _spelt(name: str, parts: Mapping[str, object]) -> str:
    """Return a partition field's own name. Raises InvalidInputError."""
    if name in parts:
        return name
    found = [one for one in parts if one.lower() == name.lower()]
    if len(found) != 1:
        raise InvalidInputError(f"PARTITION ({name}): the partition fields are {sorted(parts)}")
    return found[0]
