"""The table, branch or staged snapshot that gets the rows of a statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from iceberg_spark.api.row_verbs import RowVerbs
from iceberg_spark.api.table import Table
from iceberg_spark.api.transaction import TableTransaction
from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.commits.manage_snapshots import branch_removed_if_refused
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.save.write_options import WriteOptions, write_options
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.option_defaults import session_write_defaults
from iceberg_spark.spark.sql.statement_context import StatementContext
from iceberg_spark.spark.sql.wap_branch import wap_branch, wap_id
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.summary import STAGED_WAP_ID
from iceberg_spark.spec.union_by_name import union_by_name
from iceberg_spark.statements.target import Name, Target, target


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A table and branch that a statement changes. `properties` go into the snapshot.

    - `path`: The table's name or location as the statement has it, without the branch.
    - `context`: The tables that the statement reads, among them this version of the table.
    - `case_sensitive`: Whether the session distinguishes column names by case.
    - `options`: Those of the write, with the session's settings as defaults.
    - `branch`: None is main. With `is_named` the table's name has it.
    - `wider`: The columns that the statement gives the table together with its rows.
    - `makes_branch`: The branch does not exist yet.
    """

    catalog: Catalog
    table: Table
    path: str
    context: StatementContext
    case_sensitive: bool
    options: WriteOptions
    branch: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    wider: Schema | None = None
    makes_branch: bool = False
    is_named: bool = False

    @property
    def schema(self) -> Schema:
        """The table's columns as the statement leaves them."""
        return self.table.schema() if self.wider is None else self.wider

    def with_columns(self, columns: Schema) -> WriteTarget:
        """Return this target with the columns that the table lacks added, and types widened.

        Raises InvalidSchemaError for types that cannot be widened.
        """
        metadata = self.table.metadata
        wider = union_by_name(
            metadata.schema,
            columns,
            last_column_id=metadata.last_column_id,
            format_version=metadata.format_version,
            case_sensitive=self.case_sensitive,
        )
        if wider is metadata.schema:
            return self
        return replace(self, wider=wider)

    @contextmanager
    def verbs(self, *, appends: bool = False, as_seen: bool = False) -> Iterator[RowVerbs]:
        """Yield the verbs that change rows. New columns are committed with the rows, or not at all.

        A new branch is committed with rows that are appended; other verbs need it before. With
        `as_seen` the verbs change the loaded version, which the statement's queries read, instead
        of the newest, and detect conflicting commits since (Java pins one version for a statement).
        """
        with_branch = self.makes_branch and appends
        if with_branch or not self.makes_branch:
            with self._verbs(with_branch, as_seen) as verbs:
                yield verbs
            return
        with self.new_branch(), self._verbs(False, as_seen) as verbs:
            yield verbs

    @contextmanager
    def _verbs(self, with_branch: bool, as_seen: bool) -> Iterator[RowVerbs]:
        if self.wider is None and not with_branch and not as_seen:
            yield self.table
            return
        with self.table.transaction() as tx:
            if self.wider is not None:
                update = tx.update_schema(case_sensitive=self.case_sensitive)
                update.union_by_name(self.wider).commit()
            if with_branch:
                self._add_branch(tx)
            yield tx

    @contextmanager
    def new_branch(self) -> Iterator[None]:
        """Create the branch before its rows; it is removed again if they are refused."""
        if not self.makes_branch or self.branch is None:
            yield
            return
        self._add_branch(self.table)
        head = self.table.refs()[self.branch].snapshot_id
        with branch_removed_if_refused(self.catalog, self.table.identifier, self.branch, head):
            yield

    def _add_branch(self, to: Table | TableTransaction) -> None:
        if self.makes_branch and self.branch is not None:
            head = self.table.current_snapshot()
            snapshot_id = None if head is None else head.snapshot_id
            to.manage_snapshots().create_branch(snapshot_id, self.branch).commit()


def resolve_write_target(
    spark: SparkSession, name: Name, options: Mapping[str, str] | None = None
) -> WriteTarget:
    """Return the table and branch that get a statement's rows; `options` are those of the write.

    The branch is that of the name (`cat.db.t.branch_x`) or of the option. Without either, if the
    table has `write.wap.enabled`, it is the session's `spark.wap.branch`, created with the rows if
    the table lacks it. With `spark.wap.id` the snapshot is staged (Java:
    SparkTableUtil.determineWriteBranch, SparkWriteConf.wapId). Raises NoSuchTableError,
    InvalidInputError, InvalidOptionError.
    """
    return load_write_target(spark, target(spark, name), options)


def load_write_target(
    spark: SparkSession, destination: Target, options: Mapping[str, str] | None = None
) -> WriteTarget:
    """Load the table that gets a statement's rows; see `resolve_write_target`."""
    context, case = StatementContext(spark), is_case_sensitive(spark)
    loaded = context.load(destination.catalog, destination.identifier)
    settings = {**(options or {}), "path": destination.path}
    of_write = write_options(settings, plain=False, defaults=session_write_defaults(spark))
    table = Table(destination.catalog, loaded, of_write)
    is_named = destination.branch is not None
    branch = destination.branch or of_write.branch
    _check_branch(destination.branch, of_write.branch)
    is_chosen = branch is not None
    branch = branch or wap_branch(spark, table.properties)
    staged = wap_id(spark, table.properties)
    is_new = staged is None and not is_chosen and branch is not None and branch not in table.refs()
    return WriteTarget(
        destination.catalog,
        table,
        destination.path,
        context,
        case,
        of_write,
        branch,
        {**of_write.snapshot_properties, **({} if staged is None else {STAGED_WAP_ID: staged})},
        makes_branch=is_new,
        is_named=is_named,
    )


def _check_branch(named: str | None, option: str | None) -> None:
    """Raise InvalidOptionError for two branches (Java: SparkTableUtil.determineWriteBranch)."""
    if named is not None and option not in (None, named):
        raise InvalidOptionError(
            f"The name has branch '{named}', option 'branch' is '{option}': leave one out"
        )
