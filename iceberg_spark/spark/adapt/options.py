"""Options of the data source, parsed once into frozen values.

Names are those of Iceberg's Spark runtime, plus ours (contract: "Spark data source"). Keys are
case-insensitive; an unknown one is an error that names the nearest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.io.secrets import shown_by_spark
from iceberg_spark.scan.request import ScanRequest
from iceberg_spark.scan.split import SplitOptions, split_options
from iceberg_spark.spec.metadata import TableMetadata

FORMAT_NAME = "pyiceberg-lite"

READ_OPTIONS = (
    "snapshot-id", "versionAsOf", "as-of-timestamp", "timestampAsOf", "branch", "tag",
    "start-snapshot-id", "end-snapshot-id", "split-size", "lookback", "file-open-cost",
    "batch-size", "row-filter", "columns", "metadata-columns", "time-zone", "case-sensitive",
    "pushdown",
)  # fmt: skip
WRITE_OPTIONS = (
    "write-format", "target-file-size-bytes", "compression-codec", "compression-level", "branch",
    "overwrite-mode", "fanout-enabled", "check-nullability", "check-ordering", "mergeSchema",
    "write-mode", "equality-fields", "order-by", "global-delete", "partition-by", "sort-order",
    "format-version", "distribution-mode", "engine",
)  # fmt: skip
WRITE_PREFIXES = ("snapshot-property.", "table-property.")
STORAGE_PREFIXES = ("s3.", "gcs.", "adls.", "hdfs.", "client.", "io.", "catalog.")
METADATA_COLUMNS = ("_file", "_pos", "_spec_id", "_partition", "_deleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions(ScanRequest):
    """What a load asked for. Sizes are bytes, times ms since the epoch; None means not said."""

    path: str
    case_sensitive: bool = False
    split_size: int | None = None
    lookback: int | None = None
    file_open_cost: int | None = None
    pushdown: bool = False
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets

    def split(self, metadata: TableMetadata) -> SplitOptions:
        """Return how tasks are cut and grouped: these options over the table's properties."""
        return split_options(
            metadata.properties,
            split_size=self.split_size,
            lookback=self.lookback,
            open_file_cost=self.file_open_cost,
        )


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a save asked for. Sizes are bytes; None means not said."""

    path: str
    write_format: str | None = None
    target_file_size_bytes: int | None = None
    compression_codec: str | None = None
    compression_level: int | None = None
    branch: str | None = None
    overwrite_mode: str = "static"
    fanout_enabled: bool = True
    check_nullability: bool = True
    check_ordering: bool = False
    merge_schema: bool = False
    write_mode: str = "append"
    equality_fields: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    global_delete: bool = False
    partition_by: tuple[str, ...] = ()
    sort_order: tuple[str, ...] = ()
    format_version: int | None = None
    distribution_mode: str | None = None
    engine: Literal["native", "arrow"] | None = None
    snapshot_properties: Mapping[str, str] = field(default_factory=dict)
    table_properties: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets


def read_options(options: Mapping[str, str], *, plain: bool = True) -> ReadOptions:
    """Parse the options of a load; `plain` is the source's own, which stand in Spark's plan.

    Raises InvalidOptionError naming the option and the fix.
    """
    given = _known(options, READ_OPTIONS, ())
    if plain:
        refuse_shown_secrets(options)
    return ReadOptions(
        path=_path(options),
        snapshot_id=_integer(given, "snapshot-id"),
        version_as_of=given.get("versionasof"),
        as_of_timestamp_ms=_timestamp_ms(given),
        branch=given.get("branch"),
        tag=given.get("tag"),
        start_snapshot_id=_integer(given, "start-snapshot-id"),
        end_snapshot_id=_integer(given, "end-snapshot-id"),
        split_size=_positive(given, "split-size"),
        lookback=_positive(given, "lookback"),
        file_open_cost=_integer(given, "file-open-cost"),
        batch_rows=_positive(given, "batch-size"),
        row_filter=given.get("row-filter"),
        selected_fields=split_list(given.get("columns", "*")),
        metadata_columns=_metadata_columns(given),
        time_zone=given.get("time-zone"),
        case_sensitive=_boolean(given, "case-sensitive", default=False),
        pushdown=_boolean(given, "pushdown", default=False),
        storage=_with_prefix(options, STORAGE_PREFIXES),
    )


def write_options(options: Mapping[str, str], *, plain: bool = True) -> WriteOptions:
    """Parse the options of a save; `plain` is the source's own, that can't shuffle rows.

    Raises InvalidOptionError naming the option and the fix.
    """
    given = _known(options, WRITE_OPTIONS, WRITE_PREFIXES)
    if plain:
        refuse_shown_secrets(options)
        _refuse_what_a_plain_source_cannot(given)
    _check_upsert(given)
    return WriteOptions(
        path=_path(options),
        write_format=_one_of(given, "write-format", ("parquet", "orc", "avro")),
        target_file_size_bytes=_positive(given, "target-file-size-bytes"),
        compression_codec=given.get("compression-codec"),
        compression_level=_integer(given, "compression-level"),
        branch=given.get("branch"),
        overwrite_mode=_one_of(given, "overwrite-mode", ("static", "dynamic")) or "static",
        fanout_enabled=_boolean(given, "fanout-enabled", default=True),
        check_nullability=_boolean(given, "check-nullability", default=True),
        check_ordering=_boolean(given, "check-ordering", default=False),
        merge_schema=_boolean(given, "mergeSchema", default=False),
        write_mode=_one_of(given, "write-mode", ("append", "upsert")) or "append",
        equality_fields=split_list(given.get("equality-fields", "")),
        order_by=split_list(given.get("order-by", "")),
        global_delete=_boolean(given, "global-delete", default=False),
        partition_by=split_list(given.get("partition-by", "")),
        sort_order=split_list(given.get("sort-order", "")),
        format_version=_positive(given, "format-version"),
        distribution_mode=_one_of(given, "distribution-mode", ("none", "hash", "range")),
        engine=_engine(given),
        snapshot_properties=_under(options, "snapshot-property."),
        table_properties=_under(options, "table-property."),
        storage=_with_prefix(options, STORAGE_PREFIXES),
    )


def refuse_shown_secrets(options: Mapping[str, str]) -> None:
    """Refuse secrets that Spark would show: it writes options into its plan and event log.

    Those whose names `spark.redaction.regex` hides, as it is by default, may stay.
    """
    shown = shown_by_spark(options)
    if shown:
        what = "the location" if shown[0].lower() == "path" else f"option '{shown[0]}'"
        raise InvalidOptionError(
            f"A secret in {what} would stand in Spark's plans and event log, since "
            "spark.redaction.regex does not hide it. Configure it for a catalog (.pyiceberg.yaml, "
            "PYICEBERG_CATALOG__*) or in the environment of the store's library, or call "
            "iceberg_spark.enable(spark): then options stay out of plans"
        )


def split_list(text: str) -> tuple[str, ...]:
    """Split at commas outside parentheses and backticks: "bucket(16, id), days(ts)" is two."""
    parts, depth, quoted, start = [], 0, False, 0
    for index, char in enumerate(text):
        if char == "`":
            quoted = not quoted
        elif not quoted and char in "()":
            depth += 1 if char == "(" else -1
        elif char == "," and depth == 0 and not quoted:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return tuple(part.strip() for part in parts if part.strip())


def _known(
    options: Mapping[str, str], names: Iterable[str], prefixes: tuple[str, ...]
) -> dict[str, str]:
    known = {name.lower(): name for name in names}
    given: dict[str, str] = {}
    for key, value in options.items():
        lower = key.lower()
        if lower in known:
            given[lower] = value
        elif lower != "path" and not lower.startswith((*prefixes, *STORAGE_PREFIXES)):
            candidates = [*known, *prefixes]
            close = difflib.get_close_matches(lower, candidates, n=1, cutoff=0.0)[0]
            raise InvalidOptionError(
                f"Unknown option '{key}'; did you mean '{known.get(close, close)}'?"
            )
    return given


def _refuse_what_a_plain_source_cannot(given: Mapping[str, str]) -> None:
    mode = given.get("distribution-mode", "none").lower()
    if mode != "none":
        raise InvalidOptionError(
            f"Option 'distribution-mode' = '{mode}': Spark lets a Python source ask for no "
            "distribution. Use table.append(df), iceberg_spark.enable(spark), or "
            "df.repartition(...) before the write"
        )
    if _engine(given) == "native":
        raise InvalidOptionError(
            "Option 'engine' = 'native': Spark hands the rows of a Python source to Python. Use "
            "table.append(df) or iceberg_spark.enable(spark)"
        )


def _check_upsert(given: Mapping[str, str]) -> None:
    """Refuse options of an upsert without one, and those that one has no use for."""
    if given.get("write-mode", "append").lower() != "upsert":
        for name in ("equality-fields", "order-by", "global-delete"):
            if name in given:
                raise InvalidOptionError(f"Option '{name}' is for write-mode=upsert: set that too")
        return
    for name, instead in (
        ("mergeschema", ": add columns by update_schema()"),
        ("overwrite-mode", ""),
        ("engine", ""),
        ("distribution-mode", ": rows of one key come together anyhow"),
    ):
        if name in given:
            raise InvalidOptionError(f"Option '{name}' does not go with write-mode=upsert{instead}")


def _path(options: Mapping[str, str]) -> str:
    path = next((value for key, value in options.items() if key.lower() == "path"), None)
    if not path:
        raise InvalidOptionError(
            "No table given: pass its location, metadata.json or identifier to load() or save()"
        )
    return path


def _under(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        key[len(prefix) :]: value
        for key, value in options.items()
        if key.lower().startswith(prefix)
    }


def _with_prefix(options: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    return {key: value for key, value in options.items() if key.lower().startswith(prefixes)}


def _integer(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name.lower())
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidOptionError(f"Option '{name}' must be a whole number, not '{text}'") from None


def _positive(given: Mapping[str, str], name: str) -> int | None:
    value = _integer(given, name)
    if value is not None and value <= 0:
        raise InvalidOptionError(f"Option '{name}' must be above 0, not {value}")
    return value


def _boolean(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = given.get(name.lower())
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise InvalidOptionError(f"Option '{name}' must be true or false, not '{text}'")
    return text.lower() == "true"


def _one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str | None:
    text = given.get(name.lower())
    if text is not None and text.lower() not in allowed:
        raise InvalidOptionError(
            f"Option '{name}' must be one of {', '.join(allowed)}, not '{text}'"
        )
    return None if text is None else text.lower()


def _engine(given: Mapping[str, str]) -> Literal["native", "arrow"] | None:
    match _one_of(given, "engine", ("native", "arrow")):
        case "native":
            return "native"
        case "arrow":
            return "arrow"
        case _:
            return None


def _metadata_columns(given: Mapping[str, str]) -> tuple[str, ...]:
    names = split_list(given.get("metadata-columns", ""))
    for name in names:
        if name not in METADATA_COLUMNS:
            raise InvalidOptionError(
                f"Option 'metadata-columns' knows {', '.join(METADATA_COLUMNS)}, not '{name}'"
            )
    return names


def _timestamp_ms(given: Mapping[str, str]) -> int | None:
    """`as-of-timestamp` is ms since the epoch; `timestampAsOf` is seconds or a timestamp text."""
    if "timestampasof" not in given:
        return _integer(given, "as-of-timestamp")
    if "as-of-timestamp" in given:
        raise InvalidOptionError("Give either 'as-of-timestamp' or 'timestampAsOf', not both")
    text = given["timestampasof"].strip()
    if text.isdigit():
        return int(text) * 1000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidOptionError(
            f"Option 'timestampAsOf' must be a timestamp like '2024-01-31 12:00:00', not '{text}'"
        ) from None
    if moment.tzinfo is None:
        if "time-zone" not in given:
            raise InvalidOptionError(
                f"Option 'timestampAsOf' = '{text}' has no time zone: write '{text}+00:00', "
                "or set option 'time-zone'"
            )
        moment = moment.replace(tzinfo=ZoneInfo(given["time-zone"]))
    return int(moment.astimezone(UTC).timestamp() * 1000)
