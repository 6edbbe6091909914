"""Tables of a server: metadata, the location of its file, and storage for the table's files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iceberg_spark.catalog.catalog import LoadedTable, Reporter
from iceberg_spark.catalog.decoded_tables import decode_table
from iceberg_spark.catalog.planned_io import ServerPlannedIO
from iceberg_spark.catalog.rest.answers import (
    NOT_MODIFIED,
    TABLE,
    Answer,
    LostAnswerError,
    given_by_server,
)
from iceberg_spark.catalog.rest.credentials import (
    expires_at_ms,
    is_signed,
    storage_properties,
    texts,
)
from iceberg_spark.catalog.rest.oauth2 import own_of_table
from iceberg_spark.catalog.rest.paths import LOAD_TABLE
from iceberg_spark.catalog.rest.remote_signing import rest_signer
from iceberg_spark.catalog.rest.reports import reporter
from iceberg_spark.catalog.rest.scan_planning import (
    PlannedTable,
    RestScanPlanner,
    is_planned_by_server,
)
from iceberg_spark.catalog.rest.session import RestSession
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.catalog.rest.vended_io import VendedIO, vended_io
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.storage import open_storage
from iceberg_spark.spec.metadata import TableMetadata

ETAG = "etag"


class RestTables:
    """Loads tables of one catalog."""

    __slots__ = ("_name", "_properties", "session", "tagged_tables")

    def __init__(self, name: str, properties: Mapping[str, str], session: RestSession) -> None:
        self._name = name
        self._properties = properties
        self.session = session
        self.tagged_tables = session.tagged_tables

    def load(self, identifier: str) -> LoadedTable:
        """Load a table in one request. Raises NoSuchTableError."""
        session = self.session
        paths = session.paths
        paths.need(LOAD_TABLE)
        tagged = self.tagged_tables.find(identifier)
        headers = {"If-None-Match": tagged.tag} if tagged else {}

        def parsed(answer: Answer) -> LoadedTable:
            if answer.status == NOT_MODIFIED and tagged is not None:
                return tagged.table
            table = self.loaded_table(identifier, answer.node())
            self.tagged_tables.keep(table, answer.headers.get(ETAG) if _lasts(table.io) else None)
            return table

        request = Request("GET", paths.table(identifier), headers=headers)
        return session.read(request, TABLE, f"load table {self.shown(identifier)}", parsed)

    def shown(self, identifier: str) -> str:
        """Return a table's name for people."""
        return f"{identifier} of catalog '{self._name}'"

    def loaded_table(self, identifier: str, node: Mapping[str, Any]) -> LoadedTable:
        """Return the table of a LoadTableResult. Raises LostAnswerError if it has none."""
        metadata, metadata_location = metadata_of(node, identifier)
        self.session.keep_own(identifier, texts(node.get("config")))
        io = self.storage(identifier, node, metadata, metadata_location)
        return LoadedTable(
            identifier,
            metadata,
            metadata_location,
            io,
            given_by_catalog=True,
            reporter=self.reporter(identifier),
        )

    def reporter(self, identifier: str) -> Reporter | None:
        """Return the reporter of a table."""
        return reporter(self.session, self._name, identifier)

    def storage(
        self,
        identifier: str,
        node: Mapping[str, Any],
        metadata: TableMetadata,
        metadata_location: str,
    ) -> FileIO:
        """Return storage for a table's files, which renews its credentials if it can.

        It lets the server plan the scans of the table if the server wants that.
        """
        config = self.session.config
        trust = self.session.trust
        for named in dict.fromkeys((metadata_location, metadata.location)):
            trust.check_local(named or metadata.location)
        properties = storage_properties(config.properties, node, metadata.location, trust)
        own = own_of_table(texts(node.get("config")))
        made_from = self._name, self._properties, identifier, metadata.location
        signer = None
        if is_signed(properties):
            signer = rest_signer(*made_from[:3], node, properties, own, self.session)
        limited = table_io(open_storage(properties, signer), metadata.location)
        io = vended_io(self.session.paths, *made_from, limited, own)
        if not is_planned_by_server(self.session, texts(node.get("config")), identifier):
            return io
        return ServerPlannedIO(io, RestScanPlanner(PlannedTable(*made_from, io, own), self.session))


def _lasts(io: FileIO) -> bool:
    """Return whether storage never expires."""
    storage = io.storage if isinstance(io, ServerPlannedIO) else io
    return isinstance(storage, VendedIO) or expires_at_ms(storage.properties) is None


def metadata_of(node: Mapping[str, Any], identifier: str) -> tuple[TableMetadata, str]:
    """Return the metadata of a response, and its file's location ("" if it has none yet).

    Raises LostAnswerError, CorruptFileError, which names the table.
    """
    metadata = node.get("metadata")
    if not isinstance(metadata, dict):
        raise LostAnswerError("The catalog's answer holds no table metadata")
    metadata_location = node.get("metadata-location")
    with given_by_server(f"The catalog's metadata of table {identifier}"):
        return decode_table(metadata), metadata_location if isinstance(
            metadata_location, str
        ) else ""
