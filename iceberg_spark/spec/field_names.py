"""Names of partition fields next to names of columns, in every spec of a table.

Java binds each spec, former ones too, to the current schema when it loads a table, and fails if a
field has the name of a column that is not its source (PartitionSpec.Builder.checkAndAddPartition-
Name). The rule for new names is stricter, like Java's for new tables: the field has to be the
identity of that very column. A void field stands for a field that was removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform, VoidTransform


@dataclass(frozen=True, slots=True)
class _Clash:
    """A partition field and a column of its name that may not have it."""

    column_id: int
    source_ids: tuple[int, ...]
    transform: str
    name: str


def check_field_names(before: TableMetadata | None, after: TableMetadata) -> None:
    """Refuse a change that gives a column the name of a partition field, or the other way round.

    Clashes that exist already are tolerated: another library created them, and the table is
    readable. Raises InvalidSchemaError naming column, field and spec.
    """
    if before is not None and (
        before.schema is after.schema and before.partition_specs is after.partition_specs
    ):
        return
    former_clashes = set() if before is None else {clash for clash, _ in _clashes(before)}
    for clash, spec_id in _clashes(after):
        if clash not in former_clashes:
            raise InvalidSchemaError(_text(clash, spec_id, after))


def _clashes(metadata: TableMetadata) -> Iterator[tuple[_Clash, int]]:
    """Yield the fields that have a column's name, with their specs."""
    schema = metadata.schema
    for spec in metadata.partition_specs.values():
        for part in spec.fields:
            column_id = schema.find_id(part.name, as_spelled=True)
            if column_id is not None and not _may_share(part, column_id, schema):
                yield (
                    _Clash(column_id, part.source_ids, str(part.transform), part.name),
                    (spec.spec_id),
                )


def _may_share(part: PartitionField, column_id: int, schema: Schema) -> bool:
    """Return whether a field may have the name of a column.

    A field whose source was dropped is of a former spec, or void: Java loads it under any name.
    """
    if all(schema.get(source_id) is None for source_id in part.source_ids):
        return True
    is_alike = isinstance(part.transform, IdentityTransform | VoidTransform)
    return is_alike and part.source_ids == (column_id,)


def _text(clash: _Clash, spec_id: int, metadata: TableMetadata) -> str:
    names = (metadata.schema.find_column_name(source_id) for source_id in clash.source_ids)
    source = ", ".join(filter(None, names))
    text = (
        f"Column '{clash.name}' and partition field '{clash.name}' of spec {spec_id}, which is "
        f"{clash.transform} of column '{source}', can't share a name: only the identity of "
        "that column may. Choose another name"
    )
    if spec_id == metadata.default_spec_id:
        return text
    return (
        f"{text}, or remove the former spec: rewrite the files that are stored by it, then call "
        "maintenance.expire_snapshots(clean_expired_metadata=True)"
    )
