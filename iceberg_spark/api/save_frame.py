"""`df.write.format("pyiceberg-lite")` of an enabled session: all of Spark's save modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.engines.write_changes import write_changes
from iceberg_spark.engines.write_rows import write_rows
from iceberg_spark.errors import InvalidOptionError, TableAlreadyExistsError
from iceberg_spark.save.commit_save import commit_save, commit_upsert, not_in_vain
from iceberg_spark.save.plan_save import plan_save, plan_upsert
from iceberg_spark.save.save_plan import TablePlace
from iceberg_spark.save.write_options import WriteOptions, write_options
from iceberg_spark.spark.adapt.asked import Asked
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.session_catalogs import session_catalog
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.quoted_name import quoted
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform

ERROR_MODES = ("error", "errorifexists", "default")


def save_frame(
    frame: DataFrame,
    table: str,
    asked: Asked,
    location: str | None = None,
    columns: Schema | None = None,
    *,
    makes_table: bool = True,
) -> None:
    """Write a frame to a table, which is made where there is none, at `location`; one commit.

    `columns` are those of a new table, where they are not the frame's as it has them. Without
    `makes_table` a table that is not there raises NoSuchTableError.

    Raises TableAlreadyExistsError in Spark's default mode, InvalidOptionError for `partitionBy`
    columns other than the table's, and what the data source raises for the same options.
    """
    mode = (asked.mode or "error").lower()
    _check_mode(mode)
    given = with_partitioning({**asked.options, "path": table}, asked.partition_by)
    options = write_options(given, plain=False)
    settings = partial(session_catalog, frame.sparkSession)
    storage = with_settings(options.path, options.storage, settings)
    case = is_case_sensitive(frame.sparkSession)
    options = replace(
        options,
        storage=storage,
        location=location,
        makes_table=makes_table,
        case_sensitive=case,
    )
    catalog, identifier = resolve(options.path, options.storage)
    if catalog.table_exists(identifier):
        if mode == "ignore":
            return
        if mode in ERROR_MODES:
            raise TableAlreadyExistsError(
                f"Table {table} exists already: save with mode('append'), 'overwrite' or 'ignore'"
            )
        if asked.partition_by:
            _check_partitioning(catalog.load(identifier).metadata, asked.partition_by)
    schema = from_spark(frame.schema) if columns is None else columns
    _write(frame, schema, options, overwrite=mode == "overwrite")


def with_partitioning(options: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return options with the columns of `partitionBy`. Raises InvalidOptionError."""
    if not names:
        return options
    _check_are_columns(names)
    _check_said_once(options)
    return {**options, "partition-by": ",".join(_quoted(name) for name in names)}


def _write(frame: DataFrame, given: Schema, options: WriteOptions, *, overwrite: bool) -> None:
    place = TablePlace(options.path, options.storage)
    if options.write_mode == "upsert":  # the rows of a key are brought together first
        changes = plan_upsert(options, given, overwrite=overwrite)
        if changes.is_committed:
            return
        written = write_changes(frame, changes.context, changes.context.write.io)
        commit_upsert(place, changes, written)
        return
    plan = plan_save(options, given, overwrite=overwrite)
    if plan.is_committed:
        return
    with not_in_vain(place, plan):
        files = write_rows(
            frame,
            plan.context,
            plan.context.io,
            plan.align,
            engine=options.engine,
            distribution_mode=options.distribution_mode,
        )
    commit_save(place, plan, files)


def _check_said_once(given: dict[str, str]) -> None:
    if any(key.lower() == "partition-by" for key in given):
        raise InvalidOptionError(
            "Say either partitionBy(...) or option('partition-by', ...), not both; only the "
            "option takes transforms such as days(ts)"
        )


def _check_mode(mode: str) -> None:
    if mode not in (*ERROR_MODES, "ignore", "append", "overwrite"):
        raise InvalidOptionError(
            f"Mode '{mode}' is unknown; there are append, overwrite, ignore and error. Changes by "
            "key are mode('append') with option('write-mode', 'upsert')"
        )


def _check_are_columns(names: Sequence[object]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise InvalidOptionError(f"partitionBy takes names of columns, not {name!r}")
        if name.endswith(")") and "(" in name:
            raise InvalidOptionError(
                f"partitionBy takes names of columns; for a transform say "
                f"option('partition-by', '{name}')"
            )


def _quoted(name: str) -> str:
    return name if name.isidentifier() else quoted(name)


def _check_partitioning(metadata: TableMetadata, names: Sequence[str]) -> None:
    """Refuse columns that are not what the table is partitioned by (Java: the same)."""
    spec, schema = metadata.spec, metadata.schema
    found = [
        schema.find_column_name(part.source_id)
        if isinstance(part.transform, IdentityTransform)
        else str(part.transform)
        for part in spec.fields
    ]
    if [str(name).lower() for name in found] != [name.lower() for name in names]:
        raise InvalidOptionError(
            f"partitionBy({', '.join(names)}): the table is partitioned by "
            f"{', '.join(map(str, found)) or 'nothing'}; leave partitionBy out to append to it"
        )
