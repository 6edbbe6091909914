"""The struct type of partition tuples (specification, "Partitioning")."""

from __future__ import annotations

from collections.abc import Iterable

from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import result_type
from iceberg_spark.spec.types import IcebergType, NestedField, StringType, StructType


def partition_type(
    spec: PartitionSpec, schema: Schema, former_schemas: Iterable[Schema] = ()
) -> StructType:
    """Return the type of the spec's tuples: field ids are partition field ids, all optional.

    `former_schemas` contain the types of source columns that the schema has dropped; a type that
    is unknown there too reads as string.
    """
    schemas = (schema, *former_schemas)
    return StructType(
        *(
            NestedField(
                part.field_id,
                part.name,
                result_type(part.transform, _source(part.source_id, schemas)),
            )
            for part in spec.fields
        )
    )


def _source(field_id: int, schemas: Iterable[Schema]) -> IcebergType:
    for schema in schemas:
        field = schema.get(field_id)
        if field is not None:
            return field.field_type
    return StringType()


def union_partition_type(
    specs: Iterable[PartitionSpec], schema: Schema, former_schemas: Iterable[Schema] = ()
) -> StructType:
    """Return the struct of all fields of all specs, by field id: the type of `_partition`.

    A field that was renamed has its name in the newest spec. A void field takes the type that
    the field has in another spec. Source: specification, "Partition Statistics File"; Java's
    Partitioning.partitionType.
    """
    former = tuple(former_schemas)
    fields: dict[int, NestedField] = {}
    void: set[int] = set()
    for spec in sorted(specs, key=lambda spec: spec.spec_id, reverse=True):
        typed = partition_type(spec, schema, former).fields
        for part, child in zip(spec.fields, typed, strict=True):
            is_void = str(part.transform) == "void"
            newer = fields.get(child.field_id)
            if newer is None:
                fields[child.field_id] = child
                if is_void:
                    void.add(child.field_id)
            elif child.field_id in void and not is_void:
                fields[child.field_id] = NestedField(child.field_id, newer.name, child.field_type)
                void.discard(child.field_id)
    return StructType(*(fields[field_id] for field_id in sorted(fields)))
