"""Check and collect what an upsert needs of table and source, once before any task starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import VoidTransform
from iceberg_spark.write.align_columns import AlignOptions
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.delete_files import check_takes_deletes
from iceberg_spark.write.equality_delete_writer import equality_schema
from iceberg_spark.write.limits import UPSERTS


@dataclass(frozen=True, slots=True)
class UpsertContext:
    """A planned upsert: the values that all its tasks share.

    Equality deletes are written under each of `delete_specs`; an unpartitioned one applies to every
    data file. `order_by` names source columns that order the rows of one key; without any, they
    are ordered by arrival.
    """

    write: WriteContext
    equality_ids: tuple[int, ...]
    delete_specs: tuple[PartitionSpec, ...]
    order_by: tuple[str, ...] = ()
    options: AlignOptions = field(default_factory=AlignOptions)
    map_bytes: int = UPSERTS.map_bytes

    @property
    def key_schema(self) -> Schema:
        """The columns of the equality deletes."""
        return equality_schema(self.write.schema, self.equality_ids)

    @property
    def reached_specs(self) -> frozenset[int] | None:
        """The specs whose data files the equality deletes reach, None for all."""
        if any(spec.is_unpartitioned for spec in self.delete_specs):
            return None
        return frozenset(spec.spec_id for spec in self.delete_specs)


def upsert_context(
    metadata: TableMetadata,
    write: WriteContext,
    keys: Sequence[str],
    *,
    live_specs: Collection[int],
    order_by: Sequence[str] = (),
    global_delete: bool = False,
    options: AlignOptions | None = None,
) -> UpsertContext:
    """Plan an upsert by key columns; no keys means the table's identifier fields.

    `live_specs` are the specs of the live data files (`live_spec_ids`). Raises
    UnsupportedError for a v1 table, InvalidInputError for invalid keys and for partitions that
    the keys don't determine.
    """
    chosen = options or AlignOptions()
    check_takes_deletes(write)
    ids = key_ids(write.schema, keys, case_sensitive=chosen.case_sensitive)
    equality_schema(write.schema, ids)
    specs = _delete_specs(metadata, write.schema, ids, live_specs, global_delete=global_delete)
    return UpsertContext(write, ids, specs, tuple(order_by), chosen)


def live_spec_ids(metadata: TableMetadata, io: FileIO, branch: str | None) -> frozenset[int]:
    """Return the partition specs of the data files of a branch's head."""
    head = metadata.branch_head(branch)
    if head is None:
        return frozenset()
    return frozenset(
        manifest.partition_spec_id
        for manifest in read_manifest_list(io, head, metadata)
        if manifest.content is ManifestContent.DATA and manifest.may_have_live_files
    )


def key_ids(schema: Schema, keys: Sequence[str], *, case_sensitive: bool) -> tuple[int, ...]:
    """Return the field ids of key columns; nested ones are written "a.b".

    Raises InvalidInputError for a column that is unknown or repeated, and for no key at all.
    """
    if isinstance(keys, str):
        raise InvalidInputError(f"keys must be a list of columns, as in keys=['{keys}']")
    if not keys:
        if not schema.identifier_field_ids:
            raise InvalidInputError(
                "An upsert needs key columns: pass keys=['id'] (of a write: option "
                "'equality-fields'), or set identifier fields of the table"
            )
        return tuple(schema.identifier_field_ids)
    ids = []
    for key in keys:
        field_id = schema.find_id(key, case_sensitive)
        if field_id is None:
            columns = schema.column_names
            raise InvalidInputError(
                f"Key column '{key}' is not in the table; it has: {name_list(columns)}"
                f"{did_you_mean(key, columns)}"
            )
        if field_id in ids:
            raise InvalidInputError(f"Key column '{key}' is repeated")
        ids.append(field_id)
    return tuple(ids)


def _delete_specs(
    metadata: TableMetadata,
    schema: Schema,
    keys: Collection[int],
    live: Collection[int],
    *,
    global_delete: bool,
) -> tuple[PartitionSpec, ...]:
    """Return the specs whose equality deletes together apply to every data file of the table."""
    specs = metadata.partition_specs
    needed = [specs[number] for number in sorted({metadata.default_spec_id, *live})]
    everywhere = [spec for spec in needed if spec.is_unpartitioned]
    if everywhere:
        return (everywhere[0],)
    if global_delete:
        return (_unpartitioned(specs),)
    for spec in needed:
        for part in spec.fields:
            if isinstance(part.transform, VoidTransform) or set(part.source_ids) <= set(keys):
                continue
            columns = ", ".join(
                f"'{schema.find_column_name(source_id)}'" for source_id in part.source_ids
            )
            raise InvalidInputError(
                f"Partition field '{part.name}' (spec {spec.spec_id}) comes from {columns}, which "
                "the keys don't contain, so a key's old rows may be in any partition: add the "
                "column to the keys, or pass global_delete=True (option global-delete)"
            )
    return tuple(needed)


def _unpartitioned(specs: Mapping[int, PartitionSpec]) -> PartitionSpec:
    """Return the unpartitioned spec, a new one if the table has none."""
    there = (spec for spec in specs.values() if spec.is_unpartitioned)
    return next(there, PartitionSpec(max(specs, default=-1) + 1))
