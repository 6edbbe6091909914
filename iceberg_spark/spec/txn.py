"""The token that identifies a batch of an application, in summaries and in properties.

A snapshot's summary stores it until the snapshot expires, the property `txn.<app>@<branch>`
afterwards. Names are Delta's and, for streams, those of Java's sink.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.arguments import check_int, check_text, format_value
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot

PROPERTY_PREFIX = "txn."
BATCH_KEYS = ("txn.app-id", "txn.version")
STREAM_KEYS = ("spark.sql.streaming.queryId", "spark.sql.streaming.epochId")
"""Java's keys (SparkWrite): either library can continue a stream of the other."""
LONGEST_APP_ID = 128
"""Characters of an app's id: Hive's metastore keeps no name of a property above 256."""
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Token:
    """An application's batch on a branch; versions grow from batch to batch."""

    app_id: str
    version: int
    branch: str = MAIN_BRANCH
    keys: tuple[str, str] = BATCH_KEYS

    @property
    def summary(self) -> dict[str, str]:
        """The entries of the snapshot's summary."""
        app_id, version = self.keys
        return {app_id: self.app_id, version: str(self.version)}


def token_of(app_id: str | None, version: int | None, branch: str | None) -> Token | None:
    """Return the token that arguments name, None where they name none.

    Raises InvalidInputError where one of the two is missing or can't be one.
    """
    if app_id is None and version is None:
        return None
    if app_id is None or version is None:
        there, lacks = ("txn_app_id", "txn_version")[:: 1 if version is None else -1]
        raise InvalidInputError(f"{there} is passed without {lacks}: a batch has both, or neither")
    check_text(app_id, "txn_app_id")
    number = check_int(version, "txn_version")
    if not 0 < len(app_id) <= LONGEST_APP_ID:
        raise InvalidInputError(
            f"txn_app_id must have 1 to {LONGEST_APP_ID} characters, not {len(app_id)}"
        )
    if not 0 <= number <= _LARGEST:
        raise InvalidInputError(
            f"txn_version must be from 0 to 2^63 - 1, not {format_value(version)}"
        )
    return Token(app_id, number, branch or MAIN_BRANCH)


def with_summary(
    properties: Mapping[str, str] | None, *tokens: Token | None
) -> Mapping[str, str] | None:
    """Return snapshot properties together with those of tokens."""
    token_properties = {
        key: value for token in tokens if token for key, value in token.summary.items()
    }
    if not token_properties or not isinstance(
        properties, Mapping | None
    ):  # checked later, with a message
        return properties
    return {**(properties or {}), **token_properties}


def versions_in(snapshot: Snapshot) -> Iterator[tuple[str, int]]:
    """Yield the apps and versions that a snapshot's summary names, whoever wrote it."""
    for app_key, version_key in (BATCH_KEYS, STREAM_KEYS):
        app_id, version = snapshot.summary.get(app_key), snapshot.summary.get(version_key)
        if app_id is not None and version is not None and _is_whole(version):
            yield app_id, int(version)


def _is_whole(version: str) -> bool:
    return version.removeprefix("-").isascii() and version.removeprefix("-").isdigit()


@dataclass(frozen=True, slots=True)
class Record:
    """An app's last version as a table property has it.

    It is true of tables that have `snapshot_id` among their ancestors: of the batch itself, or,
    once that has expired, of the oldest one after it. `sequence_number` is that snapshot's (0 in
    tables of version 1), `timestamp_ms` (since the epoch) when the batch was committed.
    """

    app_id: str
    branch: str
    version: int
    snapshot_id: int
    sequence_number: int
    timestamp_ms: int

    @property
    def name(self) -> str:
        """The property's name."""
        return f"{PROPERTY_PREFIX}{self.app_id}@{quote(self.branch, safe='')}"

    @property
    def text(self) -> str:
        """The property's value."""
        return json.dumps({
            "version": self.version,
            "snapshot-id": self.snapshot_id,
            "sequence-number": self.sequence_number,
            "timestamp-ms": self.timestamp_ms,
        })  # fmt: skip


def records_in(properties: Mapping[str, str]) -> Iterator[Record]:
    """Yield the records stored in table properties; other properties are skipped."""
    for name, value in properties.items():
        if name.startswith(PROPERTY_PREFIX):
            app_id, separator, branch = name.removeprefix(PROPERTY_PREFIX).rpartition("@")
            numbers = _numbers(value)
            if separator and numbers:
                yield Record(app_id, unquote(branch), *numbers)


def _numbers(value: str) -> tuple[int, int, int, int] | None:
    try:
        record: Any = json.loads(value)
        return (
            int(record["version"]),
            int(record["snapshot-id"]),
            int(record["sequence-number"]),
            int(record["timestamp-ms"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
