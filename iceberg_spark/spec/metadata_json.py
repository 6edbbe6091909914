"""Table metadata to and from JSON (specification, "Table Metadata Fields" and Appendix C)."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Mapping
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

from iceberg_spark.errors import CorruptFileError, IcebergError, UnsupportedError
from iceberg_spark.spec.format_version import FORMAT_VERSIONS, READ_VERSIONS
from iceberg_spark.spec.json_node import (
    as_int,
    as_list,
    as_long,
    as_object,
    as_text,
    optional,
    parse_array,
    parse_json,
    read_node,
    required,
    text_map,
    unknown_members,
)
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_validation import by_id, validate
from iceberg_spark.spec.partition import FIRST_PARTITION_FIELD_ID, PartitionSpec
from iceberg_spark.spec.partition_json import (
    fields_from_json,
    fields_to_json,
    spec_from_dict,
    spec_to_dict,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_json import schema_from_dict, schema_to_dict
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot, SnapshotRef, SnapshotRefType
from iceberg_spark.spec.snapshot_json import (
    ReadOnly,
    metadata_log_from_dict,
    metadata_log_to_dict,
    ref_from_dict,
    ref_to_dict,
    snapshot_from_dict,
    snapshot_log_from_dict,
    snapshot_log_to_dict,
    snapshot_to_dict,
)
from iceberg_spark.spec.sort import UNSORTED, SortOrder
from iceberg_spark.spec.sort_json import order_from_dict, order_to_dict

NO_SNAPSHOT = -1  # what Java writes for "no current snapshot" in v1 and v2 (Appendix F)
_MEMBERS = frozenset((
    "format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms",
    "last-column-id", "schema", "schemas", "current-schema-id", "partition-spec",
    "partition-specs", "default-spec-id", "last-partition-id", "properties",
    "current-snapshot-id", "snapshots", "snapshot-log", "metadata-log", "sort-orders",
    "default-sort-order-id", "refs", "statistics", "partition-statistics", "next-row-id",
    "encryption-keys",
))  # fmt: skip


def metadata_from_json(
    text: str | bytes, source: str = "", decoded: Callable[[Any], TableMetadata] | None = None
) -> TableMetadata:
    """Parse and validate a metadata file of format v1, v2 or v3 (not compressed).

    `source` is the file's location, the start of every message. `decoded` replaces
    `metadata_from_dict`, for example by a function that reuses the previous version. A v1 file
    without `table-uuid` has the uuid "". Raises CorruptFileError for JSON that is truncated, has
    wrong types, lacks a required field or contradicts itself, UnsupportedError for an unknown
    format version or type, InvalidSchemaError for a schema, spec or sort order that breaks a
    rule.
    """
    try:
        return (decoded or metadata_from_dict)(parse_json(text, "The table metadata"))
    except IcebergError as cause:
        if not source:
            raise
        raise type(cause)(f"{source}: {cause}") from cause


def metadata_from_dict(node: Any, former: FormerEntries | None = None) -> TableMetadata:
    """Return the metadata of a parsed JSON object; raises as `metadata_from_json`.

    `former` has entries of another version, which are taken where they are the same.
    """
    members = as_object(node, "The table metadata")
    version = _format_version(members)
    schemas, schema_id = _schemas(members, version, former)
    specs, spec_id = _specs(members, version)
    orders, order_id = _orders(members, version)
    current = optional(members, "current-snapshot-id", as_long)
    current = None if current == NO_SNAPSHOT else current
    metadata = TableMetadata(
        format_version=version,
        table_uuid=_required_since(2, members, version, "table-uuid", as_text) or "",
        location=_location(members),
        last_updated_ms=required(members, "last-updated-ms", as_long),
        last_column_id=required(members, "last-column-id", as_int),
        schemas=schemas,
        current_schema_id=schema_id,
        partition_specs=specs,
        default_spec_id=spec_id,
        last_partition_id=_last_partition_id(members, version, specs),
        sort_orders=orders,
        default_sort_order_id=order_id,
        last_sequence_number=_required_since(2, members, version, "last-sequence-number", as_long)
        or 0,
        properties=ReadOnly(optional(members, "properties", text_map) or {}),
        current_snapshot_id=current,
        snapshots=_snapshots(members, version, former),
        refs=_refs(members, current),
        snapshot_log=_repeated(members, "snapshot-log", version, snapshot_log_from_dict, former),
        metadata_log=_repeated(members, "metadata-log", version, metadata_log_from_dict, former),
        statistics=_each_of(members, "statistics", _statistics_file),
        partition_statistics=_each_of(members, "partition-statistics", _statistics_file),
        next_row_id=_required_since(3, members, version, "next-row-id", as_long),
        encryption_keys=_each_of(members, "encryption-keys", _encryption_key),
        extra=unknown_members(members, _MEMBERS) or {},
    )
    validate(metadata)
    return metadata


def _format_version(members: Mapping[str, Any]) -> int:
    version = required(members, "format-version", as_int)
    if version < 1:
        raise CorruptFileError(f"'format-version' is {version}, versions start at 1")
    if version not in FORMAT_VERSIONS:
        raise UnsupportedError(
            f"The table has format-version {version}; this version of the library reads "
            f"{READ_VERSIONS}"
        )
    return version


def _required_since(since: int, members: Any, version: int, key: str, read: Any) -> Any:
    if version >= since and members.get(key) is None:
        raise CorruptFileError(f"The field '{key}', required in format v{version}, is missing")
    return optional(members, key, read)


def _location(members: Mapping[str, Any]) -> str:
    location = required(members, "location", as_text)
    return location.rstrip("/") or location


def _each_of(members: Mapping[str, Any], key: str, read: Any) -> tuple[Any, ...]:
    return parse_array(members.get(key) or [], f"'{key}'", read)


def _repeated(
    members: Mapping[str, Any], key: str, version: int, read: Any, former: FormerEntries | None
) -> tuple[Any, ...]:
    """Read a list that the versions of a table have nearly in common."""
    nodes = members.get(key) or []
    if former is None or not isinstance(nodes, list):
        return parse_array(nodes, f"'{key}'", read)
    return former.parse_array(version, key, nodes, read)


def _schemas(
    members: Mapping[str, Any], version: int, former: FormerEntries | None
) -> tuple[dict[int, Schema], int]:
    if _required_since(2, members, version, "schemas", as_list) is None:
        schema = read_node("'schema'", schema_from_dict, required(members, "schema", as_object))
        return {schema.schema_id: schema}, schema.schema_id
    schemas = _repeated(members, "schemas", version, schema_from_dict, former)
    current = required(members, "current-schema-id", as_int)
    return by_id(schemas, lambda schema: schema.schema_id, "schemas"), current


def _specs(members: Mapping[str, Any], version: int) -> tuple[dict[int, PartitionSpec], int]:
    if _required_since(2, members, version, "partition-specs", as_list) is None:
        nodes = required(members, "partition-spec", as_list)
        return {0: PartitionSpec(0, fields_from_json(nodes))}, 0
    specs = _each_of(members, "partition-specs", spec_from_dict)
    default = required(members, "default-spec-id", as_int)
    return by_id(specs, lambda spec: spec.spec_id, "partition specs"), default


def _last_partition_id(
    members: Mapping[str, Any], version: int, specs: Mapping[int, PartitionSpec]
) -> int:
    stored_id: int | None = _required_since(2, members, version, "last-partition-id", as_int)
    if stored_id is not None:
        return stored_id
    return max(
        (spec.last_assigned_field_id for spec in specs.values()),
        default=FIRST_PARTITION_FIELD_ID - 1,
    )


def _orders(members: Mapping[str, Any], version: int) -> tuple[dict[int, SortOrder], int]:
    if _required_since(2, members, version, "sort-orders", as_list) is None:
        return {UNSORTED.order_id: UNSORTED}, UNSORTED.order_id
    orders = _each_of(members, "sort-orders", order_from_dict)
    default = required(members, "default-sort-order-id", as_int)
    return by_id(orders, lambda order: order.order_id, "sort orders"), default


def _snapshots(
    members: Mapping[str, Any], version: int, former: FormerEntries | None
) -> dict[int, Snapshot]:
    read = partial(snapshot_from_dict, format_version=version)
    snapshots = _repeated(members, "snapshots", version, read, former)
    return by_id(snapshots, lambda snapshot: snapshot.snapshot_id, "snapshots")


def _refs(members: Mapping[str, Any], current: int | None) -> dict[str, SnapshotRef]:
    """Read `refs`; a table with a current snapshot always has a main branch."""
    nodes = optional(members, "refs", as_object) or {}
    refs = {
        name: read_node(f"Reference '{name}'", ref_from_dict, node) for name, node in nodes.items()
    }
    if current is not None and MAIN_BRANCH not in refs:
        refs[MAIN_BRANCH] = SnapshotRef(current, SnapshotRefType.BRANCH)
    return refs


def _statistics_file(node: Any) -> Mapping[str, Any]:
    members = as_object(node, "A statistics file")
    required(members, "snapshot-id", as_long)
    required(members, "statistics-path", as_text)
    return members


def _encryption_key(node: Any) -> Mapping[str, Any]:
    members = as_object(node, "An encryption key")
    required(members, "key-id", as_text)
    return members


def metadata_to_json(metadata: TableMetadata) -> str:
    """Return the text of a metadata file: compact, members in Java's order, unknown ones last."""
    return json.dumps(metadata_to_dict(metadata), ensure_ascii=False, separators=(",", ":"))


def metadata_to_dict(metadata: TableMetadata) -> dict[str, Any]:
    """Return the JSON object of table metadata.

    Format v1 also gets `schema` and `partition-spec` for old readers and no sequence number.
    """
    rules = metadata.rules
    node: dict[str, Any] = {"format-version": rules.number}
    if metadata.table_uuid:
        node["table-uuid"] = metadata.table_uuid
    node["location"] = metadata.location
    if rules.has_sequence_numbers:
        node["last-sequence-number"] = metadata.last_sequence_number
    node["last-updated-ms"] = metadata.last_updated_ms
    node["last-column-id"] = metadata.last_column_id
    if rules.repeats_current:
        node["schema"] = schema_to_dict(metadata.schema)
    node["current-schema-id"] = metadata.current_schema_id
    node["schemas"] = [schema_to_dict(schema) for schema in metadata.schemas.values()]
    if rules.repeats_current:
        node["partition-spec"] = fields_to_json(metadata.spec)
    node["default-spec-id"] = metadata.default_spec_id
    node["partition-specs"] = [spec_to_dict(spec) for spec in metadata.partition_specs.values()]
    node["last-partition-id"] = metadata.last_partition_id
    node["default-sort-order-id"] = metadata.default_sort_order_id
    node["sort-orders"] = [order_to_dict(order) for order in metadata.sort_orders.values()]
    node["properties"] = dict(metadata.properties)
    return node | _snapshots_to_dict(metadata) | dict(metadata.extra)


def _snapshots_to_dict(metadata: TableMetadata) -> dict[str, Any]:
    current = metadata.current_snapshot_id
    node: dict[str, Any] = {
        "current-snapshot-id": (
            NO_SNAPSHOT if current is None and not metadata.rules.has_row_lineage else current
        )
    }
    if metadata.rules.has_row_lineage:
        node["next-row-id"] = metadata.next_row_id or 0
    if metadata.encryption_keys:
        node["encryption-keys"] = [dict(key) for key in metadata.encryption_keys]
    node["refs"] = {name: ref_to_dict(ref) for name, ref in metadata.refs.items()}
    numbered = metadata.rules.has_sequence_numbers
    node["snapshots"] = [
        snapshot_to_dict(snapshot, has_sequence_numbers=numbered)
        for snapshot in metadata.snapshots.values()
    ]
    node["statistics"] = [dict(file) for file in metadata.statistics]
    node["partition-statistics"] = [dict(file) for file in metadata.partition_statistics]
    node["snapshot-log"] = [snapshot_log_to_dict(entry) for entry in metadata.snapshot_log]
    node["metadata-log"] = [metadata_log_to_dict(entry) for entry in metadata.metadata_log]
    return node


# Reuse decoded entries of the previous version of a table's metadata.
#
# A new version repeats nearly all snapshots and log entries of the previous one. To find an entry
# by its bytes takes a small part of the time that it takes to check and decode it.

DecodedEntries: TypeAlias = Mapping[tuple[int, str], Mapping[bytes, Any]]
"""Values by the bytes of their JSON, by format version and list."""

_PLAIN = 0  # marshal version without references: equal objects become equal bytes
_NONE: Mapping[bytes, Any] = {}


class FormerEntries:
    """Decoded entries of the previous version, and those of the version being read."""

    __slots__ = ("_former", "_seen")

    def __init__(self, former: DecodedEntries) -> None:
        self._former = former
        self._seen: dict[tuple[int, str], dict[bytes, Any]] = {}

    @property
    def seen(self) -> DecodedEntries:
        """The entries of the version that was read."""
        return self._seen

    @property
    def nbytes(self) -> int:
        """Bytes of all entries as JSON, roughly; values take some four times as many."""
        return sum(len(key) for entries in self._seen.values() for key in entries)

    def parse_array(
        self, version: int, key: str, nodes: list[Any], read: Callable[[Any], Any]
    ) -> tuple[Any, ...]:
        """Read a list as `json_node.parse_array` does, but decode only entries that are new.

        Keys are bytes: they distinguish 1 from 1.0 and true, which `==` does not.
        """
        what = f"'{key}'"
        try:
            exact = list(map(marshal.dumps, nodes, repeat(_PLAIN)))
        except ValueError:  # nested too deeply
            return parse_array(nodes, what, read)
        former = self._former.get((version, key), _NONE)
        former_values = list(map(former.get, exact))
        if not former:
            values = parse_array(nodes, what, read)
        elif None in former_values:
            pairs = list(zip(nodes, former_values, strict=True))
            values = parse_array(
                pairs, what, lambda pair: read(pair[0]) if pair[1] is None else pair[1]
            )
        else:
            values = tuple(former_values)
        self._seen[version, key] = dict(zip(exact, values, strict=True))
        return values
