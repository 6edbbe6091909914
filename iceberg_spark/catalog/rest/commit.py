"""A commit to a table, and the truth about it: did it land, was it refused, or can nobody tell?

The same request may be sent several times: its requirements hold for one of them only, and what it
adds (a snapshot's id, a new table's uuid) is the commit's own, so a look at the table tells whether
one of them landed. Before a request is sent again and after each refusal that is what is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from tenacity import (
    RetryError,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.rest.answers import (
    CONFLICT,
    NEW_TABLE,
    UNAVAILABLE,
    Answer,
    LostAnswerError,
    NotSentError,
)
from iceberg_spark.catalog.rest.changes import change_request, is_asked_back
from iceberg_spark.catalog.rest.landed import has_landed
from iceberg_spark.catalog.rest.paths import COMMIT, table_node
from iceberg_spark.catalog.rest.patience import BusyError, Patience
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
)
from iceberg_spark.spec.check_requirements import check
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import TableRequirement
from iceberg_spark.spec.rest_json import requirement_to_json, update_to_json
from iceberg_spark.spec.updates import AddSnapshot, AssignUuid, TableUpdate

_TRIES = 4
_PATIENCE_S = 300.0
_LOOKS_AFTER_503 = 3
_STATE_UNKNOWN = "CommitStateUnknownException"


@dataclass(frozen=True, slots=True)
class Committed:
    """Metadata after a commit, where its file is, and its tag where the server gave one."""

    metadata: TableMetadata
    place: str
    tag: str | None = None


class _Doubt(Enum):
    """Why it is open whether a commit landed, by what is known of the last request."""

    NONE = 1
    FAILED = 2  # the catalog itself says that it failed: it is done with the request
    UNCLEAR = 3  # the request may still be on its way


class _OpenError(BusyError):
    """A commit that isn't in the table as far as one can see, and may be sent again."""


@dataclass(slots=True)
class TableCommit:
    """One commit, over all times that its request is sent. `look` loads the table."""

    session: RestSession
    identifier: str
    shown: str
    requirements: tuple[TableRequirement, ...]
    updates: tuple[TableUpdate, ...]
    creates: bool
    look: Callable[[], LoadedTable]
    doubt: _Doubt = field(default=_Doubt.NONE, init=False)

    def run(self) -> Committed:
        """Have it committed.

        Raises what `Catalog.commit` raises; ServiceUnavailableError says that nothing landed.
        """
        session = self.session
        session.paths.need(COMMIT)
        body = {
            "identifier": table_node(self.identifier),
            "requirements": [requirement_to_json(each) for each in self.requirements],
            "updates": [update_to_json(each) for each in self.updates],
        }
        request = change_request(session, "POST", session.paths.table(self.identifier), body)
        again = Patience(_TRIES - 1, _PATIENCE_S).retrying()
        try:
            return again(self._once, request)
        except _OpenError as error:
            raise self._given_up(error) from error
        except (BusyError, NotSentError) as error:
            if self.doubt is not _Doubt.NONE:
                raise self._unknown(error) from error
            raise ServiceUnavailableError(f"{error}; nothing was committed") from error

    def _once(self, request: Request) -> Committed:
        """Send the request once. Raises BusyError, _OpenError, NotSentError: send it again."""
        try:
            answer = self.session.exchange(request)
            if answer.is_ok:
                return self._made(answer)
        except LostAnswerError as lost:
            self.doubt = _Doubt.UNCLEAR
            return self._settled(lost)
        except NotSentError:
            raise
        except IcebergError as refused:  # no token: this one was not sent, but was one before?
            if self.doubt is _Doubt.NONE:
                raise
            raise self._unknown(refused) from refused
        return self._failed(answer)

    def _failed(self, answer: Answer) -> Committed:
        error = self._error(answer)
        if is_asked_back(answer):
            raise BusyError(str(error), answer.retry_after_s)
        if answer.status == UNAVAILABLE:
            return self._after_503(error)
        if answer.is_doubtful:
            by_catalog = answer.said is not None and answer.said[0] != _STATE_UNKNOWN
            failed = by_catalog and self.doubt is not _Doubt.UNCLEAR
            self.doubt = _Doubt.FAILED if failed else _Doubt.UNCLEAR
            return self._settled(error)
        if answer.status == CONFLICT or self.doubt is not _Doubt.NONE:
            return self._refused(error)
        raise error

    def _error(self, answer: Answer) -> IcebergError:
        meaning = {404: NoSuchTableError, CONFLICT: CommitFailedException}
        return self.session.error(
            answer, NEW_TABLE if self.creates else meaning, f"commit to {self.shown}"
        )

    def _made(self, answer: Answer) -> Committed:
        """Return what the server says it has made, if it has."""
        try:
            metadata, place = metadata_of(answer.node())
        except IcebergError as error:  # of metadata that we can't read, too: it may have landed
            raise LostAnswerError(str(error)) from error
        if not has_landed(metadata, self._own):
            raise LostAnswerError(f"{answer.url} answered with a table that lacks the commit")
        return Committed(metadata, place, answer.headers.get("etag"))

    @property
    def _own(self) -> tuple[TableUpdate, ...]:
        """The updates that no other commit has."""
        return tuple(one for one in self.updates if isinstance(one, AddSnapshot | AssignUuid))

    def _settled(self, error: IcebergError) -> Committed:
        """Look after no clear answer: it landed, can't any more, or may be sent again."""
        found = self._found(error)
        if found is not None and has_landed(found.metadata, self.updates):
            return Committed(found.metadata, found.metadata_location)
        self._check(found)
        raise _OpenError(str(error))

    def _refused(self, error: IcebergError) -> Committed:
        """Look after a refusal: another request of this commit may have come first."""
        found = self._found(error)
        if found is not None and has_landed(found.metadata, self.updates):
            return Committed(found.metadata, found.metadata_location)
        if self.doubt is _Doubt.UNCLEAR:  # a refusal of this request is none of the one before
            if isinstance(error, UnauthorizedError | ForbiddenError):
                raise self._unknown(error) from error
            if isinstance(error, CommitFailedException | TableAlreadyExistsError):
                self._check(found)
                raise _OpenError(str(error))
        raise error

    def _after_503(self, error: IcebergError) -> Committed:
        """Send it again only if a key makes that safe; else look some times and believe the 503."""
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

    def _found(self, error: IcebergError) -> LoadedTable | None:
        """Return the table as it is, None: it isn't there. Raises CommitStateUnknownException."""
        try:
            return self.look()
        except NoSuchTableError:
            if self.creates:
                return None
            raise self._unknown(error) from error
        except IcebergError as unseen:
            raise self._unknown(unseen) from unseen

    def _check(self, found: LoadedTable | None) -> None:
        """Raise what says that the commit can't land any more, for another came first."""
        if self.creates and found is not None:
            raise TableAlreadyExistsError(f"Table {self.shown} is there already")
        check(found.metadata if found else None, self.requirements)

    def _given_up(self, error: IcebergError) -> IcebergError:
        if self.doubt is _Doubt.FAILED:
            return CommitFailedException(f"{error}; the table does not have the commit")
        return self._unknown(error)

    def _unknown(self, error: IcebergError) -> CommitStateUnknownException:
        return CommitStateUnknownException(
            f"The commit to {self.shown} may have landed: {error}. Look at the table before trying "
            "again; no file was removed"
        )
