"""Updates and requirements to and from JSON, as the REST catalog specification writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec import requirements as r
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.json_node import (
    as_int,
    as_list,
    as_long,
    as_object,
    as_text,
    int_list,
    optional,
    required,
    text_map,
)
from iceberg_spark.spec.partition_json import spec_from_dict, spec_to_dict
from iceberg_spark.spec.schema_json import schema_from_dict, schema_to_dict
from iceberg_spark.spec.snapshot_json import (
    ref_from_dict,
    ref_to_dict,
    snapshot_from_dict,
    snapshot_to_dict,
)
from iceberg_spark.spec.sort_json import order_from_dict, order_to_dict

Members = Mapping[str, Any]


def _same(value: Any) -> Any:
    return value


def _int(members: Members, key: str) -> int:
    return required(members, key, as_int)


def _long(members: Members, key: str) -> int:
    return required(members, key, as_long)


def _text(members: Members, key: str) -> str:
    return required(members, key, as_text)


def _object(members: Members, key: str) -> Mapping[str, Any]:
    return required(members, key, as_object)


def _ints(members: Members, key: str) -> tuple[int, ...]:
    return required(members, key, int_list)


def _longs(members: Members, key: str) -> tuple[int, ...]:
    return tuple(as_long(node, f"'{key}'") for node in required(members, key, as_list))


def _snapshot(members: Members, key: str) -> Any:
    return snapshot_from_dict(_object(members, key), 2)


# Action -> class, and for each member: JSON name, attribute, value to JSON, members to value.
_Member = tuple[str, str, Callable[[Any], Any], Callable[[Members, str], Any]]
_UPDATES: dict[str, tuple[type, tuple[_Member, ...]]] = {
    "assign-uuid": (u.AssignUuid, (("uuid", "uuid", _same, _text),)),
    "upgrade-format-version": (
        u.UpgradeFormatVersion,
        (("format-version", "format_version", _same, _int),),
    ),
    "add-schema": (
        u.AddSchema,
        (("schema", "schema", schema_to_dict, lambda m, k: schema_from_dict(_object(m, k))),),
    ),
    "set-current-schema": (u.SetCurrentSchema, (("schema-id", "schema_id", _same, _int),)),
    "add-spec": (
        u.AddPartitionSpec,
        (("spec", "spec", spec_to_dict, lambda m, k: spec_from_dict(_object(m, k))),),
    ),
    "set-default-spec": (u.SetDefaultSpec, (("spec-id", "spec_id", _same, _int),)),
    "add-sort-order": (
        u.AddSortOrder,
        (
            (
                "sort-order",
                "sort_order",
                order_to_dict,
                lambda m, k: order_from_dict(_object(m, k)),
            ),
        ),
    ),
    "set-default-sort-order": (
        u.SetDefaultSortOrder,
        (("sort-order-id", "sort_order_id", _same, _int),),
    ),
    "add-snapshot": (
        u.AddSnapshot,
        (("snapshot", "snapshot", snapshot_to_dict, _snapshot),),
    ),
    "remove-snapshots": (u.RemoveSnapshots, (("snapshot-ids", "snapshot_ids", list, _longs),)),
    "remove-snapshot-ref": (u.RemoveSnapshotRef, (("ref-name", "ref_name", _same, _text),)),
    "set-location": (u.SetLocation, (("location", "location", _same, _text),)),
    "set-properties": (
        u.SetProperties,
        (("updates", "updates", dict, lambda m, k: required(m, k, text_map)),),
    ),
    "remove-properties": (
        u.RemoveProperties,
        (
            (
                "removals",
                "removals",
                list,
                lambda m, k: tuple(as_text(node, f"'{k}'") for node in required(m, k, as_list)),
            ),
        ),
    ),
    "set-statistics": (u.SetStatistics, (("statistics", "statistics", dict, _object),)),
    "remove-statistics": (u.RemoveStatistics, (("snapshot-id", "snapshot_id", _same, _long),)),
    "set-partition-statistics": (
        u.SetPartitionStatistics,
        (("partition-statistics", "partition_statistics", dict, _object),),
    ),
    "remove-partition-statistics": (
        u.RemovePartitionStatistics,
        (("snapshot-id", "snapshot_id", _same, _long),),
    ),
    "remove-partition-specs": (u.RemovePartitionSpecs, (("spec-ids", "spec_ids", list, _ints),)),
    "remove-schemas": (u.RemoveSchemas, (("schema-ids", "schema_ids", list, _ints),)),
    "add-encryption-key": (
        u.AddEncryptionKey,
        (("encryption-key", "encryption_key", dict, _object),),
    ),
    "remove-encryption-key": (u.RemoveEncryptionKey, (("key-id", "key_id", _same, _text),)),
}
_ACTION_OF = {kind: action for action, (kind, _) in _UPDATES.items()}


def update_to_json(update: u.TableUpdate) -> dict[str, Any]:
    """Return the JSON object of an update, with its `action`."""
    if isinstance(update, u.SetSnapshotRef):
        return {
            "action": "set-snapshot-ref",
            "ref-name": update.ref_name,
            **ref_to_dict(update.ref),
        }
    action = _ACTION_OF[type(update)]
    node: dict[str, Any] = {"action": action}
    if isinstance(update, u.SetStatistics):  # deprecated, but older catalogs need it
        node["snapshot-id"] = update.statistics["snapshot-id"]
    for name, attribute, to_json, _ in _UPDATES[action][1]:
        node[name] = to_json(getattr(update, attribute))
    return node


def update_from_json(node: Any) -> u.TableUpdate:
    """Return the update of a JSON object.

    Raises UnsupportedError for an unknown action, CorruptFileError for missing or wrong members.
    """
    members = as_object(node, "A table update")
    action = required(members, "action", as_text)
    if action == "set-snapshot-ref":
        ref = {key: value for key, value in members.items() if key not in ("action", "ref-name")}
        return u.SetSnapshotRef(required(members, "ref-name", as_text), ref_from_dict(ref))
    if action not in _UPDATES:
        raise UnsupportedError(f"Unknown table update '{action}'")
    kind, parts = _UPDATES[action]
    update: u.TableUpdate = kind(*(read(members, name) for name, _, _, read in parts))
    return update


_REQUIREMENTS: dict[str, tuple[type, tuple[tuple[str, str, Any], ...]]] = {
    "assert-create": (r.AssertCreate, ()),
    "assert-table-uuid": (r.AssertTableUuid, (("uuid", "uuid", as_text),)),
    "assert-last-assigned-field-id": (
        r.AssertLastAssignedFieldId,
        (("last-assigned-field-id", "last_assigned_field_id", as_int),),
    ),
    "assert-current-schema-id": (
        r.AssertCurrentSchemaId,
        (("current-schema-id", "current_schema_id", as_int),),
    ),
    "assert-last-assigned-partition-id": (
        r.AssertLastAssignedPartitionId,
        (("last-assigned-partition-id", "last_assigned_partition_id", as_int),),
    ),
    "assert-default-spec-id": (
        r.AssertDefaultSpecId,
        (("default-spec-id", "default_spec_id", as_int),),
    ),
    "assert-default-sort-order-id": (
        r.AssertDefaultSortOrderId,
        (("default-sort-order-id", "default_sort_order_id", as_int),),
    ),
}
_REQUIREMENT_NAMES = {kind: name for name, (kind, _) in _REQUIREMENTS.items()}


def requirement_to_json(requirement: r.TableRequirement) -> dict[str, Any]:
    """Return the JSON object of a requirement, with its `type`."""
    if isinstance(requirement, r.AssertRefSnapshotId):
        return {
            "type": "assert-ref-snapshot-id",
            "ref": requirement.ref,
            "snapshot-id": requirement.snapshot_id,
        }
    name = _REQUIREMENT_NAMES[type(requirement)]
    members = {key: getattr(requirement, attribute) for key, attribute, _ in _REQUIREMENTS[name][1]}
    return {"type": name, **members}


def requirement_from_json(node: Any) -> r.TableRequirement:
    """Return the requirement of a JSON object.

    Raises UnsupportedError for an unknown type, CorruptFileError for missing or wrong members.
    """
    members = as_object(node, "A table requirement")
    name = required(members, "type", as_text)
    if name == "assert-ref-snapshot-id":
        return r.AssertRefSnapshotId(
            required(members, "ref", as_text), optional(members, "snapshot-id", as_long)
        )
    if name not in _REQUIREMENTS:
        raise UnsupportedError(f"Unknown table requirement '{name}'")
    kind, parts = _REQUIREMENTS[name]
    requirement: r.TableRequirement = kind(
        *(required(members, key, read) for key, _, read in parts)
    )
    return requirement
