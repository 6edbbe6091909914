"""A commit to a table, and its outcome: committed, refused or unknown.

The same request may be sent several times. Its requirements hold for one of them only, and what it
adds (a snapshot's id, a new table's uuid) belongs to the commit alone. So a read of the table shows
whether one of them succeeded. This read follows each refusal and precedes each repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeVar

from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from iceberg_spark.catalog.catalog import LoadedTable, TableChange
from iceberg_spark.catalog.rest.answers import (
    CONFLICT,
    NEW_TABLE,
    UNAVAILABLE,
    Answer,
    LostAnswerError,
    NotSentError,
)
from iceberg_spark.catalog.rest.changes import change_request, is_asked_back
from iceberg_spark.catalog.rest.paths import COMMIT, COMMIT_TABLES, table_node
from iceberg_spark.catalog.rest.retry_policy import BusyError, RetryPolicy
from iceberg_spark.catalog.rest.session import RestSession
from iceberg_spark.catalog.rest.tables import metadata_of
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    IcebergError,
    NoSuchTableError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    UnauthorizedError,
    UnsupportedError,
)
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_definitions import same_schema, same_spec
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import AssertRefSnapshotId, TableRequirement, check
from iceberg_spark.spec.rest_json import requirement_to_json, update_to_json
from iceberg_spark.spec.snapshot import MAIN_BRANCH
from iceberg_spark.spec.sort import SortOrder
from iceberg_spark.spec.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AssignUuid,
    RemoveSnapshotRef,
    RemoveSnapshots,
    SetSnapshotRef,
    TableUpdate,
)

T = TypeVar("T")

IS_NESSIE = "nessie.is-nessie-catalog"
"""Nessie's mark in its own configuration.

Nessie has branches of the whole catalog. It accepts a branch of one table, but writes the rows to
the table's main branch.
"""

_TRIES = 4
_BUDGET_S = 300.0
_LOOKS_AFTER_503 = 3
_STATE_UNKNOWN = "CommitStateUnknownException"


@dataclass(frozen=True, slots=True)
class Committed:
    """Metadata after a commit, the location of its file, and its tag if the server sent one."""

    metadata: TableMetadata
    metadata_location: str
    tag: str | None = None


class _Doubt(Enum):
    """Why the outcome of a commit is open, by what is known of the last request."""

    NONE = 1
    FAILED = 2  # the catalog itself reports the failure: it has finished the request
    UNCLEAR = 3  # the request may still be on its way


class _OpenError(BusyError):
    """A commit that is not visible in the table and may be sent again."""


@dataclass(slots=True)
class TableCommit:
    """One commit of a table or several, over all its requests.

    `look` loads a table, and `shown` names the tables for people.
    """

    session: RestSession
    shown: str
    changes: tuple[TableChange, ...]
    look: Callable[[str], LoadedTable]
    doubt: _Doubt = field(default=_Doubt.NONE, init=False)

    def run(self) -> list[Committed]:
        """Commit.

        Raises what `Catalog.commit` raises; ServiceUnavailableError means that nothing was
        committed.
        """
        request = self._request()
        again = RetryPolicy(_TRIES - 1, _BUDGET_S).retrying()
        try:
            return again(self._once, request)
        except _OpenError as error:
            raise self._given_up(error) from error
        except (BusyError, NotSentError) as error:
            if self.doubt is not _Doubt.NONE:
                raise self._unknown(error) from error
            raise ServiceUnavailableError(f"{error}; nothing was committed") from error

    def _request(self) -> Request:
        session, nodes = self.session, [_node(change) for change in self.changes]
        refuse_refs(session.config.properties, self.changes, self.shown)
        if len(nodes) > 1:
            session.paths.need(COMMIT_TABLES)
            return change_request(session, "POST", session.paths.tables, {"table-changes": nodes})
        session.paths.need(COMMIT)
        name = self.changes[0].identifier
        request = change_request(session, "POST", session.paths.table(name), nodes[0])
        return replace(request, of_table=name)

    @property
    def _creates(self) -> bool:
        return any(change.base is None for change in self.changes)

    def _once(self, request: Request) -> list[Committed]:
        """Send the request once. Raises BusyError, _OpenError, NotSentError: send it again."""
        try:
            answer = self.session.exchange(request)
            if answer.is_ok:
                return self._committed_tables(answer)
        except LostAnswerError as lost:
            self.doubt = _Doubt.UNCLEAR
            return self._settled(lost)
        except NotSentError:
            raise
        except IcebergError as refused:  # no token: an earlier request may have been sent
            if self.doubt is _Doubt.NONE:
                raise
            raise self._unknown(refused) from refused
        return self._failed(answer)

    def _failed(self, answer: Answer) -> list[Committed]:
        error = self._error(answer)
        if is_asked_back(answer):
            raise BusyError(str(error), answer.retry_after_s)
        if answer.status == UNAVAILABLE:
            return self._after_503(error)
        if answer.is_doubtful:
            by_catalog = answer.own_error is not None and answer.own_error[0] != _STATE_UNKNOWN
            failed = by_catalog and self.doubt is not _Doubt.UNCLEAR
            self.doubt = _Doubt.FAILED if failed else _Doubt.UNCLEAR
            return self._settled(error)
        if answer.status == CONFLICT or self.doubt is not _Doubt.NONE:
            return self._refused(error)
        raise error

    def _error(self, answer: Answer) -> IcebergError:
        meaning = {404: NoSuchTableError, CONFLICT: CommitFailedException}
        return self.session.error(
            answer, NEW_TABLE if self._creates else meaning, f"commit to {self.shown}"
        )

    def _committed_tables(self, answer: Answer) -> list[Committed]:
        """Return the tables in the server's response, if it has any."""
        if len(self.changes) > 1:
            return self._all_committed()
        try:
            metadata, metadata_location = metadata_of(answer.node(), self.changes[0].identifier)
        except IcebergError as error:  # even for unreadable metadata: the commit may have succeeded
            raise LostAnswerError(str(error)) from error
        if not has_landed(metadata, _own(self.changes[0])):
            raise LostAnswerError(f"{answer.url} answered with a table that lacks the commit")
        if missing := refs_of(self.changes[0]) - metadata.refs.keys():
            raise self._without_refs(missing)
        return [Committed(metadata, metadata_location, answer.headers.get("etag"))]

    def _without_refs(self, missing: set[str]) -> IcebergError:
        message = (
            f"The server took the commit to {self.shown} and made no branch or tag "
            f"{', '.join(sorted(missing))}: it keeps none for tables"
        )
        if not _own(self.changes[0]):
            return UnsupportedError(message)
        return CommitStateUnknownException(
            f"{message}. Look where the rows are, they may be in its main branch; no file "
            "was removed"
        )

    def _all_committed(self) -> list[Committed]:
        """Load all tables, since the response contains none.

        Iceberg's reference server reports success but leaves a table unchanged if another commit
        comes in between.
        """
        tables = self._current_tables(LostAnswerError("the tables can't be loaded after it"))
        for table, change in zip(tables, self.changes, strict=True):
            if table is None or not has_landed(table.metadata, _own(change)):
                raise LostAnswerError(
                    f"The server says that {self.shown} have the commit, and {change.identifier} "
                    "lacks it"
                )
        return self._seen(tables)

    def _settled(self, error: IcebergError) -> list[Committed]:
        """Load the tables without a clear response: committed, refused, or to be sent again."""
        tables = self._current_tables(error)
        if self._has_landed(tables):
            return self._seen(tables)
        self._check_whole(tables, error)
        self._check(tables)
        raise _OpenError(str(error))

    def _refused(self, error: IcebergError) -> list[Committed]:
        """Load the tables after a refusal: an earlier request of this commit may have succeeded."""
        tables = self._current_tables(error)
        if self._has_landed(tables):
            return self._seen(tables)
        self._check_whole(tables, error)
        if self.doubt is _Doubt.UNCLEAR:  # refusing this request does not refuse the one before
            if isinstance(error, UnauthorizedError | ForbiddenError):
                raise self._unknown(error) from error
            if isinstance(error, CommitFailedException | TableAlreadyExistsError):
                self._check(tables)
                raise _OpenError(str(error))
        raise error

    def _has_landed(self, tables: list[LoadedTable | None]) -> bool:
        """Return whether every table has its part: they are committed together."""
        return all(
            table is not None and has_landed(table.metadata, change.updates)
            for table, change in zip(tables, self.changes, strict=True)
        )

    def _check_whole(self, tables: list[LoadedTable | None], error: IcebergError) -> None:
        """Load again if a server commits the tables one after the other, as the reference does."""
        if any(
            table is not None and (own := _own(change)) and has_landed(table.metadata, own)
            for table, change in zip(tables, self.changes, strict=True)
        ):
            self.doubt = _Doubt.UNCLEAR
            raise _OpenError(str(error))

    def _seen(self, tables: list[LoadedTable | None]) -> list[Committed]:
        return [Committed(table.metadata, table.metadata_location) for table in tables if table]

    def _after_503(self, error: IcebergError) -> list[Committed]:
        """Send it again only if a key makes that safe; else read some times, then believe it."""
        if self.session.config.takes_keys or self.doubt is _Doubt.UNCLEAR:
            self.doubt = self.doubt if self.doubt is not _Doubt.NONE else _Doubt.FAILED
            return self._settled(error)
        looking = Retrying(
            retry=retry_if_exception_type(_OpenError),
            stop=stop_after_attempt(_LOOKS_AFTER_503),
            wait=wait_random_exponential(multiplier=0.2, max=2.0),
        )
        try:
            return looking(self._settled, error)
        except RetryError:
            raise ServiceUnavailableError(f"{error}; nothing was committed") from error

    def _current_tables(self, error: IcebergError) -> list[LoadedTable | None]:
        """Return the tables, None for a missing one. Raises CommitStateUnknownException."""
        return [self._looked_for(change, error) for change in self.changes]

    def _looked_for(self, change: TableChange, error: IcebergError) -> LoadedTable | None:
        try:
            return self.look(change.identifier)
        except NoSuchTableError:
            if change.base is None:
                return None
            raise self._unknown(error) from error
        except IcebergError as unseen:
            raise self._unknown(unseen) from unseen

    def _check(self, tables: list[LoadedTable | None]) -> None:
        """Raise the error that says that the commit cannot succeed: another one came first."""
        for change, table in zip(self.changes, tables, strict=True):
            if change.base is None and table is not None:
                raise TableAlreadyExistsError(f"Table {self.shown} is there already")
            try:
                check(table.metadata if table else None, change.requirements)
            except CommitFailedException as failed:
                if table is None or change.base is None:
                    raise
                if not can_tell(change.base.metadata, table.metadata, change.updates):
                    raise self._unknown(failed) from failed
                raise

    def _given_up(self, error: IcebergError) -> IcebergError:
        if self.doubt is _Doubt.FAILED:
            return CommitFailedException(f"{error}; the table does not have the commit")
        return self._unknown(error)

    def _unknown(self, error: IcebergError) -> CommitStateUnknownException:
        return CommitStateUnknownException(
            f"The commit to {self.shown} may have landed: {error}. Look at the table before trying "
            "again; no file was removed"
        )


def _node(change: TableChange) -> dict[str, Any]:
    return {
        "identifier": table_node(change.identifier),
        "requirements": [requirement_to_json(requirement) for requirement in change.requirements],
        "updates": list(updates_of(change)),
    }


def _own(change: TableChange) -> tuple[TableUpdate, ...]:
    """Return the updates that no other commit has."""
    return tuple(
        update for update in change.updates if isinstance(update, AddSnapshot | AssignUuid)
    )


def refs_of(change: TableChange) -> set[str]:
    """Return the branches and tags that a commit sets, and that remain."""
    names: set[str] = set()
    for update in change.updates:
        match update:
            case SetSnapshotRef(ref_name=name):
                names.add(name)
            case RemoveSnapshotRef(ref_name=name):
                names.discard(name)
            case _:
                continue
    return names


def refuse_refs(config: Mapping[str, str], changes: Iterable[TableChange], shown: str) -> None:
    """Refuse branches and tags before sending them to a server that does not support them."""
    names = sorted({name for change in changes for name in refs_of(change)} - {MAIN_BRANCH})
    if names and config.get(IS_NESSIE, "").lower() == "true":
        raise UnsupportedError(
            f"Nessie keeps no branch or tag {', '.join(names)} for {shown} alone: its branches are "
            "of the whole catalog. Make one there and name it by the catalog's property 'prefix'"
        )


def updates_of(change: TableChange) -> Iterator[dict[str, Any]]:
    """Yield a commit's updates as JSON: new schemas, specs and orders have explicit ids.

    Java does the same. Servers built on it assign the ids themselves; others (Nessie) use those of
    the request, and refuse an existing one. Some insist on the highest column id, which is optional
    and deprecated in the specification. Updates of a creation have the ids of the staged table.
    """
    base = change.base.metadata if change.base else None
    highest = base.last_column_id if base else 0
    schemas = dict(base.schemas) if base else {}
    specs = dict(base.partition_specs) if base else {}
    orders = dict(base.sort_orders) if base else {}
    for update in change.updates:
        node = update_to_json(update)
        match update:
            case AddSchema(schema=schema):
                highest = max(highest, schema.highest_field_id)
                node["last-column-id"] = highest
                if base is not None:
                    node["schema"]["schema-id"] = _id(schemas, schema, same_schema, 0)
            case AddPartitionSpec(spec=spec) if base is not None:
                node["spec"]["spec-id"] = _id(specs, spec, same_spec, 0)
            case AddSortOrder(sort_order=order) if base is not None and order.fields:
                node["sort-order"]["order-id"] = _id(orders, order, _same_order, 1)
        yield node


def _same_order(order: SortOrder, other: SortOrder) -> bool:
    return order.fields == other.fields


def _id(numbered: dict[int, T], new: T, is_same: Callable[[T, T], bool], first: int) -> int:
    """Return the id of an existing item, or the next id, which the item gets."""
    for number, existing in numbered.items():
        if is_same(existing, new):
            return number
    number = max((*numbered, first - 1)) + 1
    numbered[number] = new
    return number


def has_landed(metadata: TableMetadata, updates: Iterable[u.TableUpdate]) -> bool:
    """Return whether a table has all of a commit's updates.

    A snapshot's id or a table's uuid is proof, since it belongs to the commit alone. Without them
    the effect decides, which may be the effect of another commit.
    """
    every = tuple(updates)
    proof = [update for update in every if isinstance(update, u.AddSnapshot | u.AssignUuid)]
    return all(_is_there(metadata, update) for update in proof or every)


def can_tell(base: TableMetadata, now: TableMetadata, updates: Iterable[u.TableUpdate]) -> bool:
    """Return whether a table without a commit's snapshots proves that it never had them.

    Some servers show the newest snapshot only, without its parent (Nessie), and others expire
    snapshots. It is proved if all snapshots after the base are shown. Commits without snapshots are
    recognised by their effects.
    """
    every = tuple(updates)
    if not any(isinstance(update, u.AddSnapshot) for update in every):
        return True
    if now.last_sequence_number > 0:  # each snapshot takes the next number
        before = base.last_sequence_number
        shown = [
            snapshot for snapshot in now.snapshots.values() if snapshot.sequence_number > before
        ]
        return len(shown) == now.last_sequence_number - before
    moved = [update.ref_name for update in every if isinstance(update, u.SetSnapshotRef)]
    return bool(moved) and all(_shows_all(base, now, name) for name in moved)


def _shows_all(base: TableMetadata, now: TableMetadata, branch: str) -> bool:
    """Return whether the parents of a branch's head lead to the base's head."""
    start = base.refs[branch].snapshot_id if branch in base.refs else None
    snapshot_id = now.refs[branch].snapshot_id if branch in now.refs else None
    for _ in range(len(now.snapshots) + 1):
        if snapshot_id == start:
            return True
        if snapshot_id is None or snapshot_id not in now.snapshots:
            return False
        snapshot_id = now.snapshots[snapshot_id].parent_snapshot_id
    return False


def _is_there(metadata: TableMetadata, update: u.TableUpdate) -> bool:  # noqa: C901, PLR0912 (a case an update)
    match update:
        case u.AssignUuid(uuid=uuid):
            return metadata.table_uuid.lower() == uuid.lower()
        case u.AddSnapshot(snapshot=snapshot):
            return snapshot.snapshot_id in metadata.snapshots
        case u.SetSnapshotRef(ref_name=name, ref=ref):
            return metadata.refs.get(name) == ref
        case u.RemoveSnapshotRef(ref_name=name):
            return name not in metadata.refs
        case u.RemoveSnapshots(snapshot_ids=ids):
            return not any(snapshot_id in metadata.snapshots for snapshot_id in ids)
        case u.SetProperties(updates=properties):
            return all(metadata.properties.get(k) == v for k, v in properties.items())
        case u.RemoveProperties(removals=names):
            return not any(name in metadata.properties for name in names)
        case u.SetLocation(location=location):
            return metadata.location.rstrip("/") == location.rstrip("/")
        case u.UpgradeFormatVersion(format_version=version):
            return metadata.format_version >= version
        case u.AddSchema(schema=schema):
            return any(schema.fields == existing.fields for existing in metadata.schemas.values())
        case u.AddPartitionSpec(spec=spec):
            return any(
                spec.fields == existing.fields for existing in metadata.partition_specs.values()
            )
        case u.AddSortOrder(sort_order=order):
            return any(
                order.fields == existing.fields for existing in metadata.sort_orders.values()
            )
        case u.SetCurrentSchema(schema_id=expected_id):
            return expected_id in (u.LAST_ADDED, metadata.current_schema_id)
        case u.SetDefaultSpec(spec_id=expected_id):
            return expected_id in (u.LAST_ADDED, metadata.default_spec_id)
        case u.SetDefaultSortOrder(sort_order_id=expected_id):
            return expected_id in (u.LAST_ADDED, metadata.default_sort_order_id)
        case u.RemoveSchemas(schema_ids=ids):
            return not any(schema_id in metadata.schemas for schema_id in ids)
        case u.RemovePartitionSpecs(spec_ids=ids):
            return not any(spec_id in metadata.partition_specs for spec_id in ids)
        case _:
            return _has_statistics(metadata, update)


def _has_statistics(metadata: TableMetadata, update: u.TableUpdate) -> bool:
    files = metadata.statistics
    partitions = metadata.partition_statistics
    match update:
        case u.SetStatistics(statistics=expected):
            return dict(expected) in map(dict, files)
        case u.SetPartitionStatistics(partition_statistics=expected):
            return dict(expected) in map(dict, partitions)
        case u.RemoveStatistics(snapshot_id=gone):
            return all(file["snapshot-id"] != gone for file in files)
        case u.RemovePartitionStatistics(snapshot_id=gone):
            return all(file["snapshot-id"] != gone for file in partitions)
        case _:
            return False


def commit_guards(change: TableChange) -> tuple[TableRequirement, ...]:
    """Return a commit's requirements, and that no branch or tag has moved if it removes snapshots.

    The client chose the unneeded snapshots on the base. Otherwise a server would remove one that a
    branch was set back to since.
    """
    removes = any(
        isinstance(update, RemoveSnapshots | RemoveSnapshotRef) for update in change.updates
    )
    if not removes or change.base is None:
        return change.requirements
    refs = change.base.metadata.refs.items()
    more = (AssertRefSnapshotId(name, ref.snapshot_id) for name, ref in refs)
    return tuple(dict.fromkeys((*change.requirements, *more)))
