"""The options of a load, parsed once into a frozen value.

Names are those of Iceberg's Spark runtime (`spec/runtime_names`) and this library's own. Keys are
case-insensitive. The error for an unknown option suggests the closest known name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.io.secrets import refuse_shown_secrets
from iceberg_spark.scan.request import ScanRequest
from iceberg_spark.scan.split import SplitOptions, split_options
from iceberg_spark.spec.arguments import (
    STORAGE_PREFIXES,
    boolean_option,
    integer_option,
    known_options,
    option_path,
    options_with_prefix,
    positive_option,
    split_list,
)
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.reserved import METADATA_COLUMN_NAMES

READ_OPTIONS = (
    "snapshot-id", "versionAsOf", "as-of-timestamp", "timestampAsOf", "branch", "tag",
    "start-snapshot-id", "end-snapshot-id", "split-size", "lookback", "file-open-cost",
    "batch-size", "row-filter", "columns", "metadata-columns", "time-zone", "case-sensitive",
    "pushdown", "vectorization-enabled", "locality", "aggregate-push-down-enabled",
)  # fmt: skip


class InvalidTimestampError(InvalidOptionError):
    """The option `timestampAsOf` is not a timestamp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(ScanRequest):
    """The parsed options of a load. Sizes are bytes, times ms since the epoch; None means unset."""

    path: str
    case_sensitive: bool = False
    split_size: int | None = None
    lookback: int | None = None
    file_open_cost: int | None = None
    pushdown: bool = False
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)  # may contain secrets

    def split(self, metadata: TableMetadata) -> SplitOptions:
        """Return how tasks are cut and grouped: these options over the table's properties."""
        return split_options(
            metadata.properties,
            split_size=self.split_size,
            lookback=self.lookback,
            open_file_cost=self.file_open_cost,
        )


def read_options(
    options: Mapping[str, str], *, plain: bool = True, others: Sequence[str] = ()
) -> ReadOptions:
    """Parse the options of a load; `plain` for options in Spark's plan (the source's own).

    `others` are names of options that the caller reads. Raises InvalidOptionError naming the
    option and the fix.
    """
    values = known_options(options, (*READ_OPTIONS, *others), ())
    if plain:
        refuse_shown_secrets(options)
    return ReadOptions(
        path=option_path(options),
        snapshot_id=integer_option(values, "snapshot-id"),
        version_as_of=values.get("versionasof"),
        as_of_timestamp_ms=_timestamp_ms(values),
        branch=values.get("branch"),
        tag=values.get("tag"),
        start_snapshot_id=integer_option(values, "start-snapshot-id"),
        end_snapshot_id=integer_option(values, "end-snapshot-id"),
        split_size=positive_option(values, "split-size"),
        lookback=positive_option(values, "lookback"),
        file_open_cost=integer_option(values, "file-open-cost"),
        batch_rows=positive_option(values, "batch-size"),
        row_filter=values.get("row-filter"),
        selected_fields=split_list(values.get("columns", "*")),
        metadata_columns=_metadata_columns(values),
        time_zone=values.get("time-zone"),
        case_sensitive=boolean_option(values, "case-sensitive", default=False),
        pushdown=boolean_option(values, "pushdown", default=False),
        storage=options_with_prefix(options, STORAGE_PREFIXES),
    )


def _metadata_columns(values: Mapping[str, str]) -> tuple[str, ...]:
    names = split_list(values.get("metadata-columns", ""))
    for name in names:
        if name not in METADATA_COLUMN_NAMES:
            raise InvalidOptionError(
                f"Option 'metadata-columns' takes {', '.join(METADATA_COLUMN_NAMES)}, not '{name}'"
            )
    return names


def _timestamp_ms(values: Mapping[str, str]) -> int | None:
    """`as-of-timestamp` is ms since the epoch; `timestampAsOf` is seconds or a timestamp text."""
    if "timestampasof" not in values:
        return integer_option(values, "as-of-timestamp")
    if "as-of-timestamp" in values:
        raise InvalidOptionError("Give either 'as-of-timestamp' or 'timestampAsOf', not both")
    text = values["timestampasof"].strip()
    if text.isdigit():
        return int(text) * 1000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidTimestampError(
            f"Option 'timestampAsOf' must be a timestamp like '2024-01-31 12:00:00', not '{text}'"
        ) from None
    if moment.tzinfo is None:
        if "time-zone" not in values:
            raise InvalidOptionError(
                f"Option 'timestampAsOf' = '{text}' has no time zone: write '{text}+00:00', "
                "or set option 'time-zone'"
            )
        moment = moment.replace(tzinfo=ZoneInfo(values["time-zone"]))
    return int(moment.astimezone(UTC).timestamp() * 1000)
