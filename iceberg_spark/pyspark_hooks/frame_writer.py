"""`df.writeTo("cat.db.t")` of an enabled session: what PySpark's DataFrameWriterV2 does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.api.table import Table
from iceberg_spark.errors import (
    InvalidOptionError,
    InvalidSchemaError,
    NotEnoughColumnsError,
    TooManyColumnsError,
    UnsupportedError,
)
from iceberg_spark.pyspark_hooks.save_frame import ERROR_MODES, partition_terms, save_frame
from iceberg_spark.save.write_options import (
    NEW_TABLE_OPTIONS,
    TABLE_FILE_OPTIONS,
    WRITE_OPTIONS,
    WRITE_PREFIXES,
    WriteOptions,
    write_options,
)
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME, BuilderState
from iceberg_spark.spark.catalyst.column_texts import column_text
from iceberg_spark.spark.row_level.conditions import explaining_overwrite
from iceberg_spark.spark.row_level.inner_fields import (
    check_inner_names,
    with_inner_names,
)
from iceberg_spark.spark.row_level.target_rows import row_type
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.option_defaults import session_write_defaults
from iceberg_spark.spark.sql.statements.create_table import CreateTable
from iceberg_spark.spark.sql.table_planner import is_selector
from iceberg_spark.spec.arguments import STORAGE_PREFIXES
from iceberg_spark.spec.data_file import ROW_FORMAT_NAMES
from iceberg_spark.spec.nearest import did_you_mean
from iceberg_spark.spec.properties import DEFAULT_FILE_FORMAT
from iceberg_spark.spec.runtime_names import SNAPSHOT_PROPERTY
from iceberg_spark.statements.definitions import (
    check_format,
    columns_of,
    create_table,
    default_format,
)
from iceberg_spark.statements.matched_columns import check_columns_by_name
from iceberg_spark.statements.target import Name, check_new_name, new_target, target
from iceberg_spark.statements.write_target import WriteTarget, resolve_write_target

_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"
_OVERWRITE_MODES = ("overwrite-mode", "partitionoverwritemode")
"""Iceberg's option for that, and Spark's; the first one counts."""
_OVERWRITE_OPTIONS = ("branch", *TABLE_FILE_OPTIONS)
_FORMAT_PROPERTY = f"table-property.{DEFAULT_FILE_FORMAT}"
_REPLACES_COLUMNS = "overwriteschema"
"""An option of Delta's; `saveAsTable` replaces the columns in mode overwrite anyway."""


class FrameWriter:
    """Records the options of a write to an Iceberg table; the last call writes.

    Methods are those of `DataFrameWriterV2`, options those of `df.write.format("pyiceberg-lite")`.
    Columns are matched by name, and values are cast by Spark's store assignment.
    """

    __slots__ = ("_frame", "_name", "_partition_by", "_properties", "_state", "_using")

    def __init__(
        self,
        frame: DataFrame,
        name: Name,
        state: BuilderState | None = None,
        partition_by: tuple[str, ...] = (),
    ) -> None:
        self._frame = frame
        self._name = name
        self._state = state or BuilderState(source=FORMAT_NAME)
        self._partition_by = partition_by
        self._properties: dict[str, str] = {}
        self._using: str | None = None

    def using(self, provider: str) -> Self:
        """Name a new table's format, iceberg, or that of its data files: parquet, orc or avro.

        Raises InvalidInputError for others.
        """
        check_format(provider.lower())
        self._using = provider.lower()
        return self

    def option(self, key: str, value: Any) -> Self:
        """Add a write option."""
        self._state.add({key: value})
        return self

    def options(self, **options: Any) -> Self:
        """Add write options."""
        self._state.add(options)
        return self

    def tableProperty(self, property: str, value: str) -> Self:  # noqa: A002, N802 - PySpark's names
        """Add a property of a new table."""
        self._properties[property] = str(value)
        return self

    def partitionedBy(self, col: Column | str, *cols: Column | str) -> Self:  # noqa: N802
        """Partition a new table by columns, or transforms of them (`partitioning.days("ts")`)."""
        spark = self._frame.sparkSession
        self._partition_by = tuple(column_text(spark, column) for column in (col, *cols))
        return self

    def clusterBy(self, *_columns: str) -> Self:  # noqa: N802 - PySpark's name
        """Refuse clustering, which Iceberg's tables don't have."""
        raise UnsupportedError("clusterBy: Iceberg's tables have partitionedBy and a sort order")

    def create(self) -> None:
        """Create the table with the frame's rows. Raises TableAlreadyExistsError."""
        self._define(creates=True, replaces=False)

    def replace(self) -> None:
        """Replace a table, its definition too; history stays. Raises NoSuchTableError."""
        self._define(creates=False, replaces=True)

    def createOrReplace(self) -> None:  # noqa: N802 - PySpark's name
        """Create the table, or replace it; history stays."""
        self._define(creates=True, replaces=True)

    def append(self) -> None:
        """Append the frame's rows. Raises NoSuchTableError, InvalidSchemaError."""
        self._save("append", {})

    def overwritePartitions(self) -> None:  # noqa: N802 - PySpark's name
        """Replace the partitions that get rows. Raises NoSuchTableError, InvalidSchemaError."""
        self._save("overwrite", {"overwrite-mode": "dynamic"})

    def overwrite(self, condition: Column | str) -> None:
        """Replace the rows that match a condition. Raises NoSuchTableError, InvalidSchemaError."""
        destination = self._write_target()
        options = {key.lower(): value for key, value in self._state.options.items()}
        for key in options:
            if key not in _OVERWRITE_OPTIONS and not key.startswith(SNAPSHOT_PROPERTY):
                raise InvalidOptionError(
                    f"Option '{key}' does not go with overwrite(condition)"
                    f"{did_you_mean(key, _OVERWRITE_OPTIONS)}"
                )
        rows = assign_types(self._frame, destination.table)
        spark = self._frame.sparkSession
        where = column_text(spark, condition)
        explaining = explaining_overwrite(destination.schema, where, spark)
        with explaining, destination.verbs() as verbs:
            verbs.overwrite(
                rows,
                where,
                branch=destination.branch,
                snapshot_properties=destination.properties,
                case_sensitive=destination.case_sensitive,
                engine=destination.options.engine,
            )

    def _write_target(self) -> WriteTarget:
        return resolve_write_target(self._frame.sparkSession, self._name, self._state.options)

    def _save(self, mode: str, more: Mapping[str, str]) -> None:
        self._refuse_definitions()
        destination = self._write_target()
        summary = {
            f"{SNAPSHOT_PROPERTY}{key}": value for key, value in destination.properties.items()
        }
        others = {key: text for key, text in self._state.options.items() if key.lower() != "branch"}
        branch_option = {} if destination.branch is None else {"branch": destination.branch}
        options = {**others, **branch_option, **summary, **more}
        rows = assign_types(
            self._frame, destination.table, keeps_unknown=destination.options.merge_schema
        )
        with destination.new_branch():
            state = replace(self._state, options=options, mode=mode)
            save_frame(rows, destination.path, state, makes_table=False)

    def _refuse_definitions(self) -> None:
        if self._partition_by or self._properties:
            raise InvalidOptionError(
                "partitionedBy and tableProperty define a table: they go with create(), replace() "
                "and createOrReplace()"
            )

    def _define(self, *, creates: bool, replaces: bool) -> None:
        properties = dict(self._properties)
        location, provider = properties.pop("location", None), properties.pop("provider", None)
        if provider is not None:
            self.using(provider)
        statement = CreateTable(
            self._name,
            partition_by=self._partition_by,
            properties=properties,
            location=location,
            using=self._using,
            creates=creates,
            replaces=replaces,
        )
        spark = self._frame.sparkSession
        options = _of_new_files(spark, self._name, self._state.options)
        create_table(spark, statement, self._frame, options)


def save_as_table(frame: DataFrame, name: Name, state: BuilderState) -> None:
    """Do what `saveAsTable` does: match columns by name; overwriting replaces the definition too.

    A new table's data files have the writer's format, otherwise that of the session's default
    source, as in Java. The option `path` is the location of a new table. Raises
    TableAlreadyExistsError in Spark's default mode, InvalidInputError for formats that are not
    Iceberg's, UnsupportedError for `sortBy` and `clusterBy`, and for a branch in a mode that
    replaces a table.
    """
    if state.clustering is not None:
        raise UnsupportedError(
            f"{state.clustering}: Iceberg tables have partitions and a sort order; use partitionBy "
            "and ALTER TABLE ... WRITE ORDERED BY"
        )
    writer = FrameWriter(frame, name, partition_by=partition_terms(state))
    using = state.source or default_format(frame.sparkSession) or FORMAT_NAME
    # A namespace may have the name of a table, so only a selector of a table is resolved.
    find_target = target if is_selector(name[-1]) else new_target
    destination = find_target(frame.sparkSession, name)
    exists = destination.catalog.table_exists(destination.identifier)
    mode = (state.mode or "error").lower()
    if not (exists and mode == "append"):
        writer.using(using)
    options = dict(state.options)
    location = options.pop("path", None)
    if destination.branch is not None and mode not in ("append", *ERROR_MODES, "ignore"):
        raise UnsupportedError(
            f"saveAsTable in mode '{mode}' is for whole tables, and {'.'.join(name)} is a branch: "
            "write it by insertInto, or writeTo(...).overwritePartitions()"
        )
    if mode == "overwrite":
        if location is not None:
            writer.tableProperty("location", location)
        writer.options(**options).createOrReplace()
        return
    if exists and mode == "append":
        FrameWriter(frame, name, replace(state, options=options)).append()
    elif exists:  # an error, or nothing in mode ignore
        save_frame(frame, destination.path, replace(state, options=options))
    else:
        check_new_name(name)
        new_state = replace(state, options=_of_new_table(options, using.lower()))
        save_frame(
            frame, destination.path, new_state, location, columns_of(frame, destination.catalog)
        )


def insert_into(frame: DataFrame, name: Name, state: BuilderState, overwrite: bool | None) -> None:
    """Do what `insertInto` does: match columns and nested fields by position.

    Raises InvalidSchemaError.
    """
    spark = frame.sparkSession
    table = resolve_write_target(spark, name).table
    names = [field.name for field in table.schema().fields]
    if len(names) != len(frame.columns):
        kind = NotEnoughColumnsError if len(frame.columns) < len(names) else TooManyColumnsError
        raise kind(
            f"insertInto takes {len(names)} columns in the table's order ({', '.join(names)}), "
            f"not {len(frame.columns)}"
        )
    if state.partition_by:
        raise InvalidOptionError("insertInto takes no partitionBy: the table has its own")
    rows = with_inner_names(frame.toDF(*names), row_type(table.schema()).fields)
    options = {key.lower(): (key, value) for key, value in state.options.items()}
    modes = [options.pop(key)[1] for key in _OVERWRITE_MODES if key in options]
    writer = FrameWriter(rows, name).options(**dict(options.values()))
    replaces = (state.mode or "").lower() == "overwrite" if overwrite is None else overwrite
    mode = str([*modes, spark.conf.get(_OVERWRITE_MODE, "static")][0]).lower()
    if mode not in ("static", "dynamic"):
        raise InvalidOptionError(f"Option overwrite-mode is static or dynamic, not '{mode}'")
    if not replaces:
        writer.append()
    elif mode == "dynamic":
        writer.overwritePartitions()
    else:
        writer.overwrite("true")


def assign_types(rows: DataFrame, table: Table, *, keeps_unknown: bool = False) -> DataFrame:
    """Return rows with the types of a table's columns, by Spark's store assignment.

    Columns and nested fields are matched by name, with the session's case sensitivity. Extra
    columns and missing nested fields are refused. With `keeps_unknown` (`mergeSchema`) rows stay
    unchanged. Raises InvalidSchemaError.
    """
    spelt: Callable[[str], str] = str if is_case_sensitive(rows.sparkSession) else str.lower
    fields = row_type(table.schema()).fields
    kinds = {spelt(field.name): field for field in fields}
    if len(kinds) < len(fields):
        raise InvalidSchemaError(
            f"Columns of the table differ by case only ({', '.join(f.name for f in fields)}): "
            "set spark.sql.caseSensitive to true"
        )
    if keeps_unknown:  # wider types are the table's then, so nothing is cast before
        return rows
    check_columns_by_name(rows.columns, [field.name for field in fields], spelt)
    target_fields = [kinds[spelt(name)] for name in rows.columns]
    check_inner_names(rows, target_fields)
    return rows.to(StructType(target_fields))


def _of_new_table(options: Mapping[str, str], using: str) -> dict[str, str]:
    """Return the options of a save to a new table whose data files have the format `using`."""
    known_options = _without_unknown(options)
    if using in ROW_FORMAT_NAMES:
        return {_FORMAT_PROPERTY: using, **known_options}
    return known_options


def _without_unknown(options: Mapping[str, str]) -> dict[str, str]:
    """Return those options of a new table that are options of writes, and warn of others.

    Java's runtime ignores unknown options.
    """
    option_names = {name.lower() for name in WRITE_OPTIONS}
    left: dict[str, str] = {}
    for key, text in options.items():
        lower = key.lower()
        if lower in option_names or lower.startswith((*WRITE_PREFIXES, *STORAGE_PREFIXES)):
            left[key] = text
        elif lower != _REPLACES_COLUMNS:
            warnings.warn(
                f"Option '{key}' is not an option of writes and is ignored"
                f"{did_you_mean(key, WRITE_OPTIONS)}",
                stacklevel=3,
            )
    return left


def _of_new_files(
    spark: SparkSession, name: Name, all_options: Mapping[str, str]
) -> WriteOptions | None:
    """Return how the files of a new table are written. Raises InvalidOptionError."""
    options = _without_unknown(all_options)
    option_names = {name.lower() for name in NEW_TABLE_OPTIONS}
    for key in options:
        lower = key.lower()
        if lower not in option_names and not lower.startswith(SNAPSHOT_PROPERTY):
            raise InvalidOptionError(
                f"Option '{key}' does not go with a table that is made or replaced: a new table "
                f"has partitionedBy and tableProperty{did_you_mean(key, NEW_TABLE_OPTIONS)}"
            )
    if not options:
        return None
    return write_options(
        {**options, "path": ".".join(name)}, plain=False, defaults=session_write_defaults(spark)
    )
