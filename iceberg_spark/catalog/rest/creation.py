"""A new table: staged by the server, or created immediately if the server cannot stage.

Several servers have no staged creation (Amazon's S3 Tables responds 400). The commit then changes
the empty table that they created. If it fails, the table is dropped, unless somebody has changed it
(`commits.made_table`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iceberg_spark.catalog.catalog import Creation, LoadedTable, MadeTable, NewTable
from iceberg_spark.catalog.rest.answers import NEW_TABLE, Answer, LostAnswerError
from iceberg_spark.catalog.rest.changes import Change, change_request, make
from iceberg_spark.catalog.rest.credentials import texts
from iceberg_spark.catalog.rest.paths import COMMIT, CREATE_TABLE, split_name
from iceberg_spark.catalog.rest.tables import RestTables, metadata_of
from iceberg_spark.errors import InvalidInputError, NoSuchTableError, UnsupportedError
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.fresh_ids import assign_fresh_ids
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.partition_json import spec_to_dict
from iceberg_spark.spec.properties import FORMAT_VERSION
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.sort import SortOrder
from iceberg_spark.spec.sort_json import order_to_dict


def stage_table(tables: RestTables, identifier: str, creation: Creation) -> NewTable:
    """Let the server stage or create a table: it returns the location and storage.

    Raises NoSuchNamespaceError, TableAlreadyExistsError.
    """
    session = tables.session
    session.paths.need(CREATE_TABLE)
    updates = creation("")
    if not session.stages or not session.paths.has(COMMIT):
        return _created(tables, identifier, updates)
    try:
        new = _staged(tables, identifier, updates)
    except (InvalidInputError, UnsupportedError):  # a wrong request fails again below
        new = _created(tables, identifier, updates)
        session.stages = False
    _check_version(new, updates)
    return new


def _staged(tables: RestTables, identifier: str, updates: Sequence[u.TableUpdate]) -> NewTable:
    session = tables.session
    body = stage_request(identifier, updates)
    path = session.paths.namespace(split_name(identifier)[0], "tables")
    request = change_request(session, "POST", path, body)

    def parsed(answer: Answer) -> NewTable:
        node = answer.node()
        metadata, metadata_location = metadata_of(node, identifier)
        if metadata_location and _is_there(tables, identifier, metadata):
            return _there(tables.loaded_table(identifier, node), is_ours=True)
        tables.session.keep_own(identifier, texts(node.get("config")))
        io = tables.storage(identifier, node, metadata, metadata_location)
        tables.tagged_tables.stage(metadata.location, io)
        return NewTable(creation_of(metadata), io)

    what = f"create table {tables.shown(identifier)}"
    # staging creates nothing: it is as safe to repeat as a read
    return session.read(request, NEW_TABLE, what, parsed)


def _check_version(new: NewTable, updates: Sequence[u.TableUpdate]) -> None:
    """Refuse a table of a lower format version than requested: it lacks features."""
    version, requested = _version(new.updates), _version(updates)
    if version < requested:
        raise UnsupportedError(
            f"The server makes tables of format version {version}, and {requested} was asked for"
        )


def _version(updates: Sequence[u.TableUpdate]) -> int:
    versions = [
        update.format_version for update in updates if isinstance(update, u.UpgradeFormatVersion)
    ]
    return max(versions, default=0)


def _created(tables: RestTables, identifier: str, updates: Sequence[u.TableUpdate]) -> NewTable:
    """Create the table immediately. One like it, found after a lost response, may be another's."""
    session = tables.session
    body = stage_request(identifier, updates)
    del body["stage-create"]
    path = session.paths.namespace(split_name(identifier)[0], "tables")
    request = change_request(session, "POST", path, body)

    def is_made() -> bool:
        try:
            return _is_like(tables.load(identifier).metadata, updates)
        except NoSuchTableError:
            return False

    what = f"create table {tables.shown(identifier)}"
    answer = make(session, Change(request, NEW_TABLE, what, is_made))
    if answer is not None:
        try:
            return _there(tables.loaded_table(identifier, answer.node()), is_ours=True)
        except LostAnswerError:  # created, but the response is cut off
            pass
    return _there(tables.load(identifier), is_ours=False)


def _there(table: LoadedTable, *, is_ours: bool) -> NewTable:
    metadata, metadata_location = table.metadata, table.metadata_location
    ours = (
        MadeTable(metadata.table_uuid, metadata_location) if is_ours and metadata_location else None
    )
    return NewTable(creation_of(metadata), table.io, table, ours)


def _is_there(tables: RestTables, identifier: str, prepared_metadata: TableMetadata) -> bool:
    """Return whether a server created the table that it was to stage."""
    try:
        return tables.load(identifier).metadata.table_uuid == prepared_metadata.table_uuid
    except NoSuchTableError:
        return False


def _is_like(metadata: TableMetadata, updates: Sequence[u.TableUpdate]) -> bool:
    """Return whether a table is empty and as requested, apart from ids."""
    return not metadata.snapshots and all(_has(metadata, update) for update in updates)


def _has(metadata: TableMetadata, update: u.TableUpdate) -> bool:
    match update:
        case u.AddSchema(schema=schema):
            return assign_fresh_ids(metadata.schema).fields == assign_fresh_ids(schema).fields
        case u.AddPartitionSpec(spec=spec):
            return _parts(metadata.spec) == _parts(spec)
        case u.AddSortOrder(sort_order=order):
            return _keys(metadata.sort_order) == _keys(order)
        case u.SetProperties(updates=properties):
            return properties.items() <= metadata.properties.items()
        case u.UpgradeFormatVersion(format_version=version):
            return metadata.format_version == version
        case _:
            return True


def _parts(spec: PartitionSpec) -> list[tuple[str, str]]:
    return [(field.name, str(field.transform)) for field in spec.fields]


def _keys(order: SortOrder) -> list[tuple[str, str, str]]:
    fields = order.fields
    return [(str(field.transform), str(field.direction), str(field.null_order)) for field in fields]


def stage_request(identifier: str, creation: Sequence[u.TableUpdate]) -> dict[str, Any]:
    """Return the CreateTableRequest of a table that these updates create."""
    node: dict[str, Any] = {
        "name": split_name(identifier)[1],
        "stage-create": True,
        "properties": {},
    }
    for update in creation:
        match update:
            case u.AddSchema(schema=schema):
                node["schema"] = schema_to_dict(schema)
            case u.AddPartitionSpec(spec=spec):
                node["partition-spec"] = spec_to_dict(spec)
            case u.AddSortOrder(sort_order=order):
                node["write-order"] = order_to_dict(order)
            case u.UpgradeFormatVersion(format_version=version):
                node["properties"][FORMAT_VERSION] = str(version)
            case u.SetProperties(updates=properties):
                node["properties"].update(properties)
            case u.SetLocation(location=location) if location:  # the caller chose the location
                node["location"] = location
            case _:
                continue
    return node


def creation_of(staged: TableMetadata) -> tuple[u.TableUpdate, ...]:
    """Return the updates that create a table as the server staged it (Java: createChanges)."""
    return (
        u.AssignUuid(staged.table_uuid),
        u.UpgradeFormatVersion(staged.format_version),
        u.AddSchema(staged.schema),
        u.SetCurrentSchema(),
        u.AddPartitionSpec(staged.spec),
        u.SetDefaultSpec(),
        u.AddSortOrder(staged.sort_order),
        u.SetDefaultSortOrder(),
        u.SetLocation(staged.location),
        *((u.SetProperties(dict(staged.properties)),) if staged.properties else ()),
    )
