"""The options of a save, parsed once into a frozen value.

Names are those of Iceberg's Spark runtime (`spec/runtime_names`) and this library's own. Keys are
case-insensitive. An unknown option is an error that names the nearest known one, if one is near.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from iceberg_spark.catalog.pinned import split_name
from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.io.secrets import refuse_shown_secrets
from iceberg_spark.save import deferred
from iceberg_spark.spec import properties as names
from iceberg_spark.spec.arguments import (
    STORAGE_PREFIXES,
    boolean_option,
    choice_option,
    integer_option,
    known_options,
    option_path,
    options_under,
    options_with_prefix,
    positive_option,
    split_list,
)
from iceberg_spark.spec.data_file import ROW_FORMAT_NAMES
from iceberg_spark.spec.runtime_names import SNAPSHOT_PROPERTY
from iceberg_spark.spec.txn import Token, token_of
from iceberg_spark.write.new_write import TABLE_OUTPUT, Output

FILE_OPTIONS = (
    "write-format", "target-file-size-bytes", "compression-codec", "compression-level",
    "compression-strategy", "fanout-enabled", "check-nullability", "check-ordering",
    "distribution-mode", "use-table-distribution-and-ordering", "advisory-partition-size",
    "shred-variants", "variant-inference-buffer-size", "engine",
)  # fmt: skip
"""How the files of any write are written."""
_OF_EXISTING_TABLES = (
    "delete-format", "target-delete-file-size-bytes", "delete-granularity", "isolation-level",
    "validate-from-snapshot-id",
)  # fmt: skip
"""A write that creates a table takes them, as Java's does, and has no use for them."""
TABLE_FILE_OPTIONS = (
    *FILE_OPTIONS, *_OF_EXISTING_TABLES, "output-spec-id", "output-sort-order-id"
)  # fmt: skip
"""How a write to an existing table writes files and which commits it conflicts with."""
NEW_TABLE_OPTIONS = (
    *FILE_OPTIONS, *_OF_EXISTING_TABLES, "merge-schema", "mergeSchema",
    "use-merge-append-for-streaming",
)  # fmt: skip
"""What a write takes that creates a table or replaces its definition."""
WRITE_OPTIONS = (
    *TABLE_FILE_OPTIONS, "branch", "overwrite-mode", "merge-schema", "mergeSchema",
    "use-merge-append-for-streaming", "write-mode", "equality-fields", "order-by", "global-delete",
    "partition-by", "sort-order", "format-version", "txnAppId", "txnVersion",
)  # fmt: skip
_IS_ARRANGED = "use-table-distribution-and-ordering"
WRITE_PREFIXES = (SNAPSHOT_PROPERTY, "table-property.")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a save asked for. Sizes are bytes; None means not said.

    `overrides` are table properties that the options, or the session's settings, stand in for.
    """

    path: str
    write_format: str | None = None
    target_file_size_bytes: int | None = None
    compression_codec: str | None = None
    compression_level: int | None = None
    branch: str | None = None
    overwrite_mode: str | None = None
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
    token: Token | None = None
    output: Output = TABLE_OUTPUT
    planned: deferred.Planned | None = None
    """Which commits an overwrite conflicts with."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    snapshot_properties: Mapping[str, str] = field(default_factory=dict)
    table_properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    """Where a new table goes instead of where its catalog would put it; no option says it."""
    makes_table: bool = True
    """Whether a table is made where there is none; no option says it."""
    case_sensitive: bool = False
    """Whether the session tells columns apart by case; no option says it."""
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets


def write_options(
    options: Mapping[str, str],
    *,
    plain: bool = True,
    defaults: Mapping[str, str] = MappingProxyType({}),
) -> WriteOptions:
    """Parse the options of a save; `plain` is the source's own, that can't shuffle rows.

    `defaults` are the options that the session's settings name. Raises InvalidOptionError naming
    the option and the fix.
    """
    values = _checked(options, plain=plain)
    merged = {**known_options(defaults, WRITE_OPTIONS, WRITE_PREFIXES), **values}
    return WriteOptions(
        path=option_path(options),
        write_format=choice_option(values, "write-format", ROW_FORMAT_NAMES),
        target_file_size_bytes=positive_option(values, "target-file-size-bytes"),
        compression_codec=values.get("compression-codec"),
        compression_level=integer_option(values, "compression-level"),
        branch=values.get("branch"),
        overwrite_mode=choice_option(values, "overwrite-mode", ("static", "dynamic")),
        fanout_enabled=boolean_option(values, "fanout-enabled", default=True),
        check_nullability=boolean_option(merged, "check-nullability", default=True),
        check_ordering=boolean_option(values, "check-ordering", default=False),
        merge_schema=_merges_schema(values, merged),
        write_mode=choice_option(values, "write-mode", ("append", "upsert")) or "append",
        equality_fields=split_list(values.get("equality-fields", "")),
        order_by=split_list(values.get("order-by", "")),
        global_delete=boolean_option(values, "global-delete", default=False),
        partition_by=split_list(values.get("partition-by", "")),
        sort_order=split_list(values.get("sort-order", "")),
        format_version=positive_option(values, "format-version"),
        distribution_mode=choice_option(values, "distribution-mode", ("none", "hash", "range")),
        engine=_engine(values),
        token=_token(values),
        output=_output(values),
        planned=_planned(values),
        overrides=overridden_properties(merged),
        snapshot_properties=options_under({**defaults, **options}, SNAPSHOT_PROPERTY),
        table_properties=options_under(options, "table-property."),
        storage=options_with_prefix(options, STORAGE_PREFIXES),
    )


def check_is_written(path: str) -> None:
    """Refuse a metadata table. Raises UnsupportedError."""
    name = split_name(path)[1]
    if name is not None:
        raise UnsupportedError(
            f"'{path}' is a metadata table, '{name}': it can be read but not written"
        )


def _checked(options: Mapping[str, str], *, plain: bool) -> dict[str, str]:
    """Return the options by their names in lower case. Raises InvalidOptionError."""
    values = known_options(options, WRITE_OPTIONS, WRITE_PREFIXES)
    if plain:
        refuse_shown_secrets(options)
        _refuse_what_a_plain_source_cannot(values)
    _check_upsert(values)
    if not boolean_option(values, _IS_ARRANGED, default=True):
        values["distribution-mode"] = "none"
    return values


def _output(values: Mapping[str, str]) -> Output:
    return Output(
        integer_option(values, "output-spec-id"),
        integer_option(values, "output-sort-order-id"),
        boolean_option(values, _IS_ARRANGED, default=True),
    )


def _refuse_what_a_plain_source_cannot(values: Mapping[str, str]) -> None:
    mode = values.get("distribution-mode", "none").lower()
    if mode != "none":
        raise InvalidOptionError(
            f"Option 'distribution-mode' = '{mode}': Spark lets a Python source ask for no "
            "distribution. Use table.append(df), iceberg_spark.enable(spark), or "
            "df.repartition(...) before the write"
        )
    if _engine(values) == "native":
        raise InvalidOptionError(
            "Option 'engine' = 'native': Spark hands the rows of a Python source to Python. Use "
            "table.append(df) or iceberg_spark.enable(spark)"
        )


def _check_upsert(values: Mapping[str, str]) -> None:
    """Refuse options of an upsert without one, and those that one has no use for."""
    if values.get("write-mode", "append").lower() != "upsert":
        for name in ("equality-fields", "order-by", "global-delete"):
            if name in values:
                raise InvalidOptionError(f"Option '{name}' is for write-mode=upsert: set that too")
        return
    for name, instead in (
        ("overwrite-mode", ""),
        ("engine", ""),
        ("distribution-mode", ": rows of one key come together anyhow"),
        ("output-spec-id", ": equality deletes reach files of the table's own spec"),
    ):
        if name in values:
            raise InvalidOptionError(f"Option '{name}' does not go with write-mode=upsert{instead}")


def _merges_schema(values: Mapping[str, str], merged: Mapping[str, str]) -> bool:
    """Return whether a write widens the schema: the option, by either name, before the default."""
    if "merge-schema" not in values and "mergeschema" in values:
        return boolean_option(values, "mergeSchema", default=False)
    return boolean_option(merged, "merge-schema", default=False)


def _planned(values: Mapping[str, str]) -> deferred.Planned | None:
    """Return which commits an overwrite conflicts with (Java: SparkWrite.DynamicOverwrite).

    Those since `validate-from-snapshot-id`, without it all of the table's history.
    """
    level = choice_option(values, "isolation-level", ("serializable", "snapshot"))
    since = integer_option(values, "validate-from-snapshot-id")
    return (
        None if level is None else deferred.Planned(since, refuse_new_data=level == "serializable")
    )


def _token(values: Mapping[str, str]) -> Token | None:
    """Return the batch that is written. Raises InvalidOptionError for half a one."""
    app_id, version = values.get("txnappid"), integer_option(values, "txnVersion")
    if (app_id is None) != (version is None):
        there, lacks = ("txnAppId", "txnVersion")[:: 1 if version is None else -1]
        raise InvalidOptionError(f"Option '{there}' goes with option '{lacks}': set both")
    return token_of(app_id, version, values.get("branch"))


def _engine(values: Mapping[str, str]) -> Literal["native", "arrow"] | None:
    match choice_option(values, "engine", ("native", "arrow")):
        case "native":
            return "native"
        case "arrow":
            return "arrow"
        case _:
            return None


_FORMATS = ("parquet", "orc", "avro")
_DISTRIBUTION_MODES = (
    names.WRITE_DISTRIBUTION_MODE,
    names.DELETE_DISTRIBUTION_MODE,
    names.UPDATE_DISTRIBUTION_MODE,
    names.MERGE_DISTRIBUTION_MODE,
)
_CODECS = tuple(
    f"write.{kind}{file_format}.compression-codec"
    for kind in ("", "delete.")
    for file_format in _FORMATS
)
_LEVELS = ("write.parquet.compression-level", "write.delete.parquet.compression-level")


def overridden_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return table properties with the values of options, whose names are in lower case.

    Raises InvalidOptionError for a bad value.

    >>> overridden_properties({"delete-granularity": "partition"})
    {'write.delete.granularity': 'partition'}
    """
    _check(options)
    properties_of = {
        "delete-format": (names.DELETE_DEFAULT_FILE_FORMAT,),
        "target-delete-file-size-bytes": (names.DELETE_TARGET_FILE_SIZE_BYTES,),
        "delete-granularity": (names.DELETE_GRANULARITY,),
        "advisory-partition-size": (names.ADVISORY_PARTITION_SIZE_BYTES,),
        "shred-variants": (names.PARQUET_SHRED_VARIANTS,),
        "variant-inference-buffer-size": (names.PARQUET_VARIANT_INFERENCE_ROWS,),
        "distribution-mode": _DISTRIBUTION_MODES,
        "compression-codec": _CODECS,
        "compression-level": _LEVELS,
    }
    return {
        name: options[option]
        for option, properties in properties_of.items()
        if option in options
        for name in properties
    }


def _check(options: Mapping[str, str]) -> None:
    choice_option(options, "delete-format", _FORMATS)
    choice_option(options, "delete-granularity", names.CHOICES[names.DELETE_GRANULARITY])
    choice_option(options, "distribution-mode", names.CHOICES[names.WRITE_DISTRIBUTION_MODE])
    boolean_option(options, "shred-variants", default=False)
    for name in (
        "target-delete-file-size-bytes", "advisory-partition-size", "variant-inference-buffer-size"
    ):  # fmt: skip
        positive_option(options, name)


_SPARKS_OWN = frozenset(("checkpointlocation", "queryname", "outputmode", "triggerinterval"))


def written_stream_options(
    options: Mapping[str, str],
    *,
    plain: bool = True,
    defaults: Mapping[str, str] = MappingProxyType({}),
) -> WriteOptions:
    """Parse the options of `writeStream`; `plain` and `defaults` as in `write_options`.

    Raises InvalidOptionError, also for a batch of an application: a stream is one itself.
    UnsupportedError for a metadata table.
    """
    ours = {key: value for key, value in options.items() if key.lower() not in _SPARKS_OWN}
    parsed = write_options(ours, plain=plain, defaults=defaults)
    if parsed.token is not None:
        raise InvalidOptionError(
            "Options 'txnAppId' and 'txnVersion' are for saves: a stream's batches land once by "
            "the id of its query, which its checkpoint keeps"
        )
    check_is_written(parsed.path)
    return parsed
