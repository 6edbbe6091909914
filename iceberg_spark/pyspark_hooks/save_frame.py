"""`df.write.format("pyiceberg-lite")` of an enabled session: all of Spark's save modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.engines.write_rows import write_changes, write_rows
from iceberg_spark.errors import InvalidOptionError, TableAlreadyExistsError
from iceberg_spark.save.commit_save import commit_save, commit_upsert, not_in_vain
from iceberg_spark.save.plan_save import TablePlace, plan_save, plan_upsert
from iceberg_spark.save.write_options import WriteOptions, write_options
from iceberg_spark.spark.adapt.builder_state import BuilderState
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.option_defaults import session_write_defaults
from iceberg_spark.spark.session.session_catalogs import session_catalog
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import BucketTransform, IdentityTransform

ERROR_MODES = ("error", "errorifexists", "default")


def save_frame(
    frame: DataFrame,
    table: str,
    state: BuilderState,
    location: str | None = None,
    columns: Schema | None = None,
    *,
    makes_table: bool = True,
) -> None:
    """Write a DataFrame to a table in one commit; a missing table is created, at `location`.

    `columns` are those of a new table, by default the DataFrame's. Without `makes_table` a missing
    table raises NoSuchTableError.

    Raises TableAlreadyExistsError in Spark's default mode, InvalidOptionError for columns of
    `partitionBy` and `bucketBy` other than the table's, and the errors of the data source for the
    same options.
    """
    mode = (state.mode or "error").lower()
    _check_mode(mode)
    all_options = with_partitioning({**state.options, "path": table}, partition_terms(state))
    defaults = session_write_defaults(frame.sparkSession)
    options = write_options(all_options, plain=False, defaults=defaults)
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
        terms = partition_terms(state)
        if terms:
            _check_partitioning(catalog.load(identifier).metadata, terms)
    schema = from_spark(frame.schema) if columns is None else columns
    _write(frame, schema, options, overwrite=mode == "overwrite")


def partition_terms(state: BuilderState) -> tuple[str, ...]:
    """Return the columns of `partitionBy` and the transform of `bucketBy`, as SQL has them.

    Raises InvalidOptionError for anything that is not a name, and for buckets of several columns.

    Examples:
        >>> partition_terms(BuilderState(partition_by=("day",), buckets=(4, ("id",))))
        ('day', 'bucket(4, id)')
    """
    _check_are_columns(state.partition_by)
    terms = tuple(_quoted(name) for name in state.partition_by)
    if state.buckets is None:
        return terms
    count, columns = state.buckets
    if len(columns) > 1:
        raise InvalidOptionError(
            f"bucketBy({count}, {', '.join(columns)}): a partition of an Iceberg table has buckets "
            "of one column"
        )
    return (*terms, f"bucket({count}, {_quoted(columns[0])})")


def with_partitioning(options: dict[str, str], terms: Sequence[str]) -> dict[str, str]:
    """Return options with what a new table is partitioned by. Raises InvalidOptionError."""
    if not terms:
        return options
    _check_one_partitioning(options)
    return {**options, "partition-by": ",".join(terms)}


def _write(frame: DataFrame, schema: Schema, options: WriteOptions, *, overwrite: bool) -> None:
    table = TablePlace(options.path, options.storage)
    if options.write_mode == "upsert":  # the rows of a key are brought together first
        changes = plan_upsert(options, schema, overwrite=overwrite)
        if changes.is_committed:
            return
        written = write_changes(frame, changes.context, changes.context.write.io)
        commit_upsert(table, changes, written)
        return
    plan = plan_save(options, schema, overwrite=overwrite)
    if plan.is_committed:
        return
    with not_in_vain(table, plan):
        files = write_rows(
            frame,
            plan.context,
            plan.context.io,
            plan.align,
            engine=options.engine,
            distribution_mode=options.distribution_mode,
        )
    commit_save(table, plan, files)


def _check_one_partitioning(options: dict[str, str]) -> None:
    if any(key.lower() == "partition-by" for key in options):
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
                f"partitionBy takes names of columns; for a transform use "
                f"option('partition-by', '{name}')"
            )


def _quoted(name: str) -> str:
    return name if name.isidentifier() else quote(name)


def _check_partitioning(metadata: TableMetadata, terms: Sequence[str]) -> None:
    """Refuse what is not the table's partitioning, as Java does."""
    schema = metadata.schema
    parts = [_term(schema, part) for part in metadata.spec.live_fields]
    if [part.lower() for part in parts] != [term.lower() for term in terms]:
        raise InvalidOptionError(
            f"The table is partitioned by {', '.join(parts) or 'nothing'}, not by "
            f"{', '.join(terms)}; leave partitionBy and bucketBy out to append to it"
        )


def _term(schema: Schema, part: PartitionField) -> str:
    column = _quoted(str(schema.find_column_name(part.source_id)))
    match part.transform:
        case IdentityTransform():
            return column
        case BucketTransform(num_buckets=count):
            return f"bucket({count}, {column})"
        case transform:
            return f"{transform}({column})"
