"""The options of a stream, parsed once. Names are Java's, plus `stream-from-snapshot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.scan.incremental import CHANGES
from iceberg_spark.scan.read_options import READ_OPTIONS, ReadOptions
from iceberg_spark.spec.arguments import (
    boolean_option,
    integer_option,
    known_options,
    positive_option,
    split_list,
)

STREAM_OPTIONS = (
    "stream-from-timestamp", "stream-from-snapshot", "streaming-skip-delete-snapshots",
    "streaming-skip-overwrite-snapshots", "streaming-max-files-per-micro-batch",
    "streaming-max-rows-per-micro-batch", "identifier-columns",
    "async-micro-batch-planning-enabled", "streaming-snapshot-polling-interval-ms",
    "async-queue-preload-file-limit", "async-queue-preload-row-limit",
)  # fmt: skip

StartingPoint: TypeAlias = Literal["earliest", "latest", "full"] | int
"""The start of a stream without a checkpoint; an id: after that snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """A stream's options without columns and filter; None: no limit, or not set.

    `from_timestamp_ms` is ms since the epoch. The limits are the files and rows of a batch.
    """

    branch: str | None = None
    start: StartingPoint = "earliest"
    from_timestamp_ms: int | None = None
    skip_deletes: bool = False
    skip_overwrites: bool = False
    max_files: int | None = None
    max_rows: int | None = None
    identifier_columns: tuple[str, ...] = ()

    @property
    def is_limited(self) -> bool:
        """Whether a batch may be less than all new rows."""
        return self.max_files is not None or self.max_rows is not None


def refuse_stream_options(options: Mapping[str, str]) -> None:
    """Raise InvalidOptionError if a batch read has options of streams."""
    lower = {key.lower() for key in options}
    values = [name for name in STREAM_OPTIONS if name in lower]
    if values:
        raise InvalidOptionError(
            f"Option '{values[0]}' is for spark.readStream, not for spark.read"
        )


def stream_options(
    options: Mapping[str, str], read: ReadOptions, *, changes: bool
) -> StreamOptions:
    """Parse the options of a stream; `read` are those that it shares with a batch.

    Raises InvalidOptionError for options of batches only, or of the other kind of stream.
    """
    values = known_options(options, (*READ_OPTIONS, *STREAM_OPTIONS), ())
    _check(read, values, changes=changes)
    return StreamOptions(
        branch=read.branch,
        start=_start(values, read.start_snapshot_id),
        from_timestamp_ms=integer_option(values, "stream-from-timestamp"),
        skip_deletes=boolean_option(values, "streaming-skip-delete-snapshots", default=False),
        skip_overwrites=boolean_option(values, "streaming-skip-overwrite-snapshots", default=False),
        max_files=positive_option(values, "streaming-max-files-per-micro-batch"),
        max_rows=positive_option(values, "streaming-max-rows-per-micro-batch"),
        identifier_columns=split_list(values.get("identifier-columns", "")),
    )


def _check(read: ReadOptions, values: Mapping[str, str], *, changes: bool) -> None:
    allowed = {"branch", "start_snapshot_id"} if changes else {"branch"}
    others = sorted(name.replace("_", "-") for name in read.given - allowed)
    if read.pushdown:
        others.append("pushdown")
    if others:
        raise InvalidOptionError(
            f"Option '{others[0]}' is for spark.read: a stream begins where 'stream-from-snapshot' "
            "or 'stream-from-timestamp' says"
        )
    if "identifier-columns" in values and not changes:
        raise InvalidOptionError(
            f"Option 'identifier-columns' is for streams of changes: load('<table>#{CHANGES}')"
        )
    starts = [
        name
        for name in ("stream-from-snapshot", "stream-from-timestamp", "start-snapshot-id")
        if name in values
    ]
    if len(starts) > 1:
        raise InvalidOptionError(f"Options '{starts[0]}' and '{starts[1]}' exclude each other")


def _start(values: Mapping[str, str], start_snapshot_id: int | None) -> StartingPoint:
    if start_snapshot_id is not None:
        return start_snapshot_id
    text = values.get("stream-from-snapshot", "earliest").strip().lower()
    match text:
        case "earliest" | "latest" | "full":
            return text
        case _ if text.isdecimal():
            return int(text)
        case _:
            raise InvalidOptionError(
                "Option 'stream-from-snapshot' must be earliest, latest, full or a snapshot id "
                f"(the stream begins after it), not '{text}'"
            )
