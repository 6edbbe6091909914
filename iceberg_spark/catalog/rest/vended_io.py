"""Storage with temporary credentials from a catalog, renewed there before they expire.

A store may refuse them earlier: its clock differs, or the credentials were revoked. They are then
renewed once, and the call is repeated. The storage is pickled into Spark's tasks like any other. A
task of a long job requests credentials itself, with the catalog's token at the time of pickling. A
task does not get the client's secret, which is more powerful and valid for longer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

from iceberg_spark.catalog.rest.answers import TABLE, Answer
from iceberg_spark.catalog.rest.credentials import expires_at_ms, renewed_credential
from iceberg_spark.catalog.rest.oauth2 import CREDENTIAL
from iceberg_spark.catalog.rest.paths import CREDENTIALS, Paths
from iceberg_spark.catalog.rest.session import RestSession, session_of
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.errors import IcebergError, StoragePermissionError, UnauthorizedError
from iceberg_spark.io.delegated_io import DelegatedIO, T
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage

ENDPOINT = "client.refresh-credentials-endpoint"
ENABLED = "client.refresh-credentials-enabled"
ALLOW_CREDENTIAL = "tasks.allow-credential"
"""The user's property that sends all catalog properties to tasks, for jobs longer than a token."""
_WINDOW_MS = 300_000
_PAUSE_MS = 10_000
"""Between a failed renewal and the next, while the credentials are still valid."""
_REFUSED_PAUSE_MS = 60_000
"""Between two renewals after refusals: for a user without rights this costs one request."""


def vended_io(
    paths: Paths,
    name: str,
    catalog: Mapping[str, str],
    identifier: str,
    table_location: str,
    io: FileIO,
    own: Mapping[str, str],
    plan_id: str = "",
) -> FileIO:
    """Return storage that renews a table's credentials, if its server can send new ones.

    `catalog` are the catalog's properties, from which tasks create its session. `own` is the
    server's configuration of the table's own token. With `plan_id`, the credentials are those of a
    plan of the server.
    """
    enabled = io.properties.get(ENABLED, "true").lower() != "false"
    can = ENDPOINT in io.properties or paths.has(CREDENTIALS)
    if expires_at_ms(io.properties) is None or not (enabled and can):
        return io
    return VendedIO(name, catalog, identifier, table_location, io, own, plan_id)


def properties_for_tasks(catalog: Mapping[str, str], session: RestSession) -> dict[str, str]:
    """Return a catalog's properties for other processes: all of them only if the user allows it."""
    if catalog.get(ALLOW_CREDENTIAL, "").lower() == "true":
        return dict(catalog)
    return session.for_tasks()


_MadeFrom: TypeAlias = tuple[str, dict[str, str], str, str, FileIO, dict[str, str], str]


class VendedIO(DelegatedIO):
    """A `FileIO` that requests new credentials some minutes before they expire."""

    __slots__ = (
        "_ask_at",
        "_catalog",
        "_identifier",
        "_io",
        "_lock",
        "_name",
        "_own",
        "_plan_id",
        "_refused_until",
        "_table_location",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        catalog: Mapping[str, str],
        identifier: str,
        table_location: str,
        io: FileIO,
        own: Mapping[str, str] | None = None,
        plan_id: str = "",
    ) -> None:
        self._own = dict(own or {})
        self._plan_id = plan_id
        self._name = name
        self._table_location = table_location
        self._catalog = dict(catalog)
        self._identifier = identifier
        self._io = io
        self._ask_at = _ask_at(io)
        self._lock = threading.Lock()
        self._refused_until = 0.0

    def __reduce__(self) -> tuple[type[VendedIO], _MadeFrom]:
        catalog = properties_for_tasks(self._catalog, session_of(self._name, self._catalog))
        target = self._identifier, self._table_location
        return VendedIO, (self._name, catalog, *target, self._io, self._own, self._plan_id)

    def __repr__(self) -> str:
        return f"VendedIO({self._identifier})"

    @property
    def properties(self) -> Mapping[str, str]:
        """The storage properties with the current credentials (never print them)."""
        return self._now().properties

    def _now(self) -> FileIO:
        if time.time() * 1000 < self._ask_at:
            return self._io
        with self._lock:
            if time.time() * 1000 >= self._ask_at:
                self._renew()
        return self._io

    def _renew(self) -> None:
        try:
            renewed = self._requested(session_of(self._name, self._catalog))
        except IcebergError as error:
            ends = expires_at_ms(self._io.properties)
            if ends is not None and time.time() * 1000 >= ends:
                raise self._ended(error) from error
            renewed = {}
        if renewed:
            self._io = open_storage({**self._io.properties, **renewed})
        self._ask_at = max(_ask_at(self._io), time.time() * 1000 + _PAUSE_MS)

    def _ended(self, error: IcebergError) -> IcebergError:
        """Return the error of credentials that have expired and were not renewed."""
        if CREDENTIAL in self._catalog or not isinstance(error, UnauthorizedError):
            return error
        return UnauthorizedError(
            f"The credentials of {self._identifier} have ended, and so has the token that renews "
            f"them: {error}. Tasks get the catalog's token, but not the credential that renews it. "
            f"Have the catalog give tokens that outlive the job, or set its property "
            f"{ALLOW_CREDENTIAL} to 'true' to send the credential to tasks"
        )

    def _requested(self, session: RestSession) -> dict[str, str]:
        properties = self._io.properties
        path = properties.get(ENDPOINT) or session.paths.table(self._identifier, "credentials")

        def parsed(answer: Answer) -> dict[str, str]:
            credentials = answer.node().get("storage-credentials")
            return renewed_credential(credentials, self._table_location, session.trust)

        what = f"renew the credentials of {self._identifier}"
        if self._own and not session.has_own(self._identifier):  # in a task
            session.keep_own(self._identifier, self._own)
        query = {"planId": self._plan_id} if self._plan_id else {}
        request = Request("GET", path.lstrip("/"), query, of_table=self._identifier)
        return session.read(request, TABLE, what, parsed)

    def _tried(self, work: Callable[[FileIO], T]) -> T:
        """Call the storage, and again with newer credentials if it refuses."""
        io = self._now()
        try:
            return work(io)
        except StoragePermissionError:
            if not self._renewed_since(io):
                raise
        return work(self._io)

    def _renewed_since(self, refused: FileIO) -> bool:
        """Return whether there are newer credentials than those that were refused."""
        with self._lock:
            if self._io is not refused:
                return True  # another thread renewed them
            if time.time() * 1000 < self._refused_until:
                return False
            self._refused_until = time.time() * 1000 + _REFUSED_PAUSE_MS
            try:
                credentials = self._requested(session_of(self._name, self._catalog))
            except IcebergError:
                return False  # the store's refusal is more informative
            before = refused.properties
            if all(before.get(key) == value for key, value in credentials.items()):
                return False
            self._io = open_storage({**before, **credentials})
            self._ask_at = _ask_at(self._io)
            return True


def _ask_at(io: FileIO) -> float:
    """Return when to renew (ms since the epoch): some minutes, or half of the time, before."""
    ends = expires_at_ms(io.properties)
    if ends is None:
        return float("inf")
    left = ends - time.time() * 1000
    return ends - min(_WINDOW_MS, max(left, 0) / 2)
