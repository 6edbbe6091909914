"""The verbs that change rows: a table lands each alone, a transaction several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from iceberg_spark.api import deferred
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import (
    is_frame,
    read_by_session,
    session_of,
    session_time_zone,
)
from iceberg_spark.errors import (
    CommitFailedException,
    InvalidInputError,
    InvalidSchemaError,
    ValidationException,
)
from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Unbound
from iceberg_spark.spark.session.engine import Distribution, Engine
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.txn import Token, token_of, with_summary

Summary: TypeAlias = Mapping[str, str]


class RowVerbs:
    """The methods of `Table` and `TableTransaction` that change rows.

    All of them take these arguments: `branch` (main by default), `snapshot_properties` for the
    snapshot's summary, and `case_sensitive` for the names of columns. `txn_app_id` and
    `txn_version` name a batch of an application: it is skipped if the branch already has this
    version of the application, or a later one.
    """

    __slots__ = ()

    def _changes(self, on_shown: bool = False) -> AbstractContextManager[deferred.StagedChanges]:
        """Return what collects the changes of one verb; they count when its block ends.

        With `on_shown` they are planned on the version that is shown, not on the newest.
        """
        raise NotImplementedError

    def _may_append_as_shown(self) -> bool:
        """Return whether an append may skip loading the newest version."""
        raise NotImplementedError

    def _counted(self, counts: deferred.ChangedRows, branch: str | None) -> deferred.ChangedRows:
        """Return what a verb gives back, once its changes count."""
        del branch
        return counts

    def _token(self, app_id: str | None, version: int | None, branch: str | None) -> Token | None:
        """Return the batch that a verb's arguments name."""
        return token_of(app_id, version, branch)

    def _summary(self, properties: Summary | None, token: Token | None) -> Summary | None:
        """Return the snapshot properties of a verb with those of its batch."""
        return with_summary(properties, token)

    def _before_retry(self) -> object:
        """Prepare for a merge that is run once more."""

    def append(
        self,
        df: deferred.RowSource,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        engine: Engine | None = None,
        distribution_mode: Distribution | None = None,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> None:
        """Append rows.

        Spark's own Parquet writer writes a DataFrame if it can, otherwise this library's writer
        does, in the Python workers.

        - `df`: A Spark DataFrame, or Arrow or pandas rows (which need no SparkSession).
        - `engine`: "native" or "arrow" forces one of the two writers.
        - `distribution_mode`: "none", "hash" or "range" overrides `write.distribution-mode`.

        Examples:
            >>> t.append(rows)
            >>> t.append(rows, branch="audit", snapshot_properties={"job": "nightly"})
        """
        token = self._token(txn_app_id, txn_version, branch)
        summary = self._summary(snapshot_properties, token)

        def add(changes: deferred.StagedChanges) -> None:
            with changes.batch(token) as is_new:
                if is_new:
                    plan = changes.save_plan("nothing", branch, summary, case_sensitive)
                    files = changes.write(df, plan, engine, distribution_mode)
                    changes.actions.extend(plan.actions(changes.io, files))

        # Rows go with every version of this schema: no need to ask for the newest one.
        if token is None and self._may_append_as_shown() and deferred.has_several_passes(df):
            try:
                with self._changes(on_shown=True) as changes:
                    shown_schema = changes.metadata().current_schema_id
                    changes.actions.append(deferred.SameSchema(shown_schema))
                    add(changes)
                return  # noqa: TRY300 (an interrupt here comes after the commit)
            except InvalidSchemaError:  # the newest may have the columns
                pass
        with self._changes() as changes:
            add(changes)

    def overwrite(  # noqa: PLR0913 - each is a keyword of PyIceberg's, or of the contract
        self,
        df: deferred.RowSource,
        overwrite_filter: str | Predicate | Unbound = "true",
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        allow_rewrite: bool = True,
        engine: Engine | None = None,
        distribution_mode: Distribution | None = None,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> None:
        """Replace the rows that match a filter, or all rows, by those of `df`.

        - `df`, `engine`, `distribution_mode`: As for `append`.
        - `overwrite_filter`: A SQL predicate or an expression of `col`.
        - `allow_rewrite`: Rewrite files of which only some rows match.

        Raises:
            ValidationException: Rows that match were committed meanwhile. Or, with
                `allow_rewrite=False`, only some rows of a file match.

        Examples:
            >>> t.overwrite(rows, "region = 'eu'")
        """
        with session_of(df):
            predicate, time_zone = _parsed(overwrite_filter), session_time_zone()
        token = self._token(txn_app_id, txn_version, branch)
        summary = self._summary(snapshot_properties, token)
        with session_of(df), self._changes() as changes, changes.batch(token) as is_new:
            if not is_new:
                return
            plan = changes.save_plan("nothing", branch, summary, case_sensitive)
            added = changes.write(df, plan, engine, distribution_mode)
            replaced: tuple[DataFile, ...] = ()
            options = deferred.TargetOptions(branch, case_sensitive, time_zone)
            rewrites = allow_rewrite and predicate != ALWAYS_TRUE
            if rewrites:
                change = changes.rewrite_without(predicate, options, use_spark=is_frame(df))
                replaced = change.removed_data
                added += change.added_data
            action = _overwrite(changes, added, replaced, predicate, options, summary, rewrites)
            changes.actions.append(action)

    def delete(
        self,
        delete_filter: str | Predicate | Unbound,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        alias: str | None = None,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> deferred.ChangedRows:
        """Delete the rows for which the filter is true, and return their number.

        Files whose rows all match are removed unopened. `write.delete.mode` decides whether others
        are rewritten or get position deletes.

        Args:
            delete_filter: With a session any deterministic Spark expression, without one a filter
                of `scan`.
            branch: The branch to commit to, main by default.
            snapshot_properties: Entries of the snapshot's summary.
            case_sensitive: Whether names of columns are case-sensitive.
            alias: A name by which the filter may call the table.
            txn_app_id: The application of a batch that is written only once.
            txn_version: The number of the batch, which grows from batch to batch.

        Raises:
            ValidationException: Rows that the filter concerns were committed meanwhile.

        Examples:
            >>> t.delete("region = 'eu' and id < 10").deleted
        """
        token = self._token(txn_app_id, txn_version, branch)
        names, summary = deferred.Names(alias), self._summary(snapshot_properties, token)
        counts = deferred.ChangedRows()
        with self._changes() as changes, changes.batch(token) as is_new:
            if is_new:
                verb = changes.row_verb("delete", branch, summary, case_sensitive, names)
                counts = changes.add_row_change(
                    verb, lambda context: deferred.delete_change(verb, context, delete_filter)
                )
        return self._counted(deferred.ChangedRows() if changes.was_skipped else counts, branch)

    def update(
        self,
        updates: Mapping[str, str],
        where: str | Predicate | Unbound = "true",
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        alias: str | None = None,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> deferred.ChangedRows:
        """Set columns to SQL expressions, in the rows that match. Runs on Spark.

        Values are stored by the rules of Spark's ANSI mode. `write.update.mode` decides how files
        change.

        Args:
            updates: SQL expressions by column; "a.b" is a field of a struct.
            where: A SQL predicate or an expression of `col`; all rows by default.
            branch: The branch to commit to, main by default.
            snapshot_properties: Entries of the snapshot's summary.
            case_sensitive: Whether names of columns are case-sensitive.
            alias: A name by which expressions may call the table.
            txn_app_id: The application of a batch that is written only once.
            txn_version: The number of the batch, which grows from batch to batch.

        Raises:
            InvalidInputError: A value does not fit its column.
            ValidationException: Rows that the filter concerns were committed meanwhile.

        Examples:
            >>> t.update({"amount": "amount * 2"}, where="region = 'eu'").updated
        """
        token = self._token(txn_app_id, txn_version, branch)
        names, summary = deferred.Names(alias), self._summary(snapshot_properties, token)
        counts = deferred.ChangedRows()
        with self._changes() as changes, changes.batch(token) as is_new:
            if is_new:
                verb = changes.row_verb("update", branch, summary, case_sensitive, names)
                on = on_spark.needed_session()
                counts = changes.add_row_change(
                    verb,
                    lambda context: on_spark.update_on_spark(verb, context, updates, where, on),
                )
        return self._counted(deferred.ChangedRows() if changes.was_skipped else counts, branch)

    def upsert(  # noqa: PLR0913 - each is a keyword of the contract
        self,
        df: deferred.RowSource,
        keys: Sequence[str] = (),
        *,
        order_by: Sequence[str] | str = (),
        global_delete: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> deferred.UpsertResult:
        """Write changes by key. The table is not read (PyIceberg's method is a merge).

        A column `_op` says what a row does: I, U, +I, +U (INSERT, UPDATE_AFTER) replace the rows of
        its key; D, -D, -U (DELETE, UPDATE_BEFORE) delete them. Without it all rows replace. The
        last row of a key wins.

        - `df`: A Spark DataFrame, or Arrow or pandas rows.
        - `keys`: The columns of the key, by default the identifier fields.
        - `order_by`: Columns without ties that decide which row is the last; by default the order
          of the input.
        - `global_delete`: Delete in all partitions, for keys that do not decide the partition.

        Examples:
            >>> t.upsert(rows, keys=["id", "region"]).added_records
        """
        token = self._token(txn_app_id, txn_version, branch)
        with self._changes() as changes, changes.batch(token) as is_new:
            if not is_new:
                return deferred.UpsertResult()
            metadata = changes.metadata()
            context = deferred.upsert_context(
                metadata,
                changes.context(),
                keys,
                live_specs=deferred.live_spec_ids(metadata, changes.io, branch),
                order_by=(order_by,) if isinstance(order_by, str) else order_by,
                global_delete=global_delete,
                options=deferred.AlignOptions(case_sensitive=case_sensitive),
            )
            plan = deferred.UpsertPlan(context, branch, self._summary(snapshot_properties, token))
            files = deferred.write_changes(df, context, changes.io)
            result = deferred.UpsertResult.of(files)
            changes.note(files.paths)
            changes.actions.extend(plan.actions(files))
        return deferred.UpsertResult() if changes.was_skipped else result

    def apply_changes(  # noqa: PLR0913 - the names of Spark's create_auto_cdc_flow
        self,
        df: deferred.RowSource,
        keys: Sequence[str],
        sequence_by: deferred.Condition,
        *,
        apply_as_deletes: deferred.Condition | None = None,
        apply_as_truncates: deferred.Condition | None = None,
        column_list: Sequence[str] | None = None,
        except_column_list: Sequence[str] | None = None,
        stored_as_scd_type: int | str = 1,
        merge_schema: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> deferred.ChangedRows:
        """Apply changes by key in the order of a sequence, whenever and however often they come.

        - `df`, `keys`: The changes, and the columns of their key.
        - `sequence_by`: The column that orders the changes of a key; of a frame any expression.
        - `apply_as_deletes`, `apply_as_truncates`: Conditions of changes that delete their row, or
          all rows with a smaller sequence.
        - `column_list`, `except_column_list`: The columns of `df` that are stored; by default all.
        - `stored_as_scd_type`: 1 stores the newest row of a key, 2 all, with their times.
        - `merge_schema`: Add columns that the table lacks, and widen types.

        Raises InvalidInputError for NULL keys and sequences, and for changes that share both.

        Examples:
            >>> t.apply_changes(rows, ["id"], "ts", apply_as_deletes="amount < 0")
        """
        token = self._token(txn_app_id, txn_version, branch)
        lists, names = (column_list, except_column_list), deferred.column_names
        rows = deferred.cdc_input(df, sequence_by, apply_as_deletes, apply_as_truncates)
        with rows.held() as held_rows:
            request = deferred.CdcRequest(
                held_rows,
                names(keys, "keys") or (),
                deferred.Choice(*map(names, lists, ("column_list", "except_column_list"))),
                deferred.scd_type(stored_as_scd_type) == 2,
                apply_as_truncates is not None,
                branch,
                case_sensitive,
                self._summary(snapshot_properties, token),
                merge_schema,
            )
            return self._run_apply_again(request, token)

    def _run_apply_again(
        self, request: deferred.CdcRequest, token: Token | None
    ) -> deferred.ChangedRows:
        """Apply changes, again on the newest version as long as other commits come first."""
        for _ in range(self._conflict_retries()):
            try:
                return self._run_apply(request, token)
            except (ValidationException, CommitFailedException):
                self._before_retry()
        return self._run_apply(request, token)

    def _run_apply(self, request: deferred.CdcRequest, token: Token | None) -> deferred.ChangedRows:
        counts = deferred.ChangedRows()
        with self._changes() as changes, changes.batch(token) as is_new:
            if is_new:
                counts = deferred.add_changes(changes, request)
        if changes.was_skipped:
            return deferred.ChangedRows()
        return self._counted(counts, request.branch)

    def _conflict_retries(self) -> int:
        """Return how often a verb may be planned again after a conflicting commit."""
        return 0

    def merge(
        self,
        source: deferred.RowSource,
        on: str,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        aliases: tuple[str, str] = ("t", "s"),
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> deferred.MergeBuilder:
        """Return a builder of a MERGE, which runs on Spark: add clauses, then `.execute()`.

        Args:
            source: A Spark DataFrame or Arrow data; it is read once.
            on: The condition. It calls the target `t` and the source `s`, as the clauses do.
            branch: The branch to commit to, main by default.
            snapshot_properties: Entries of the snapshot's summary.
            case_sensitive: Whether names of columns are case-sensitive.
            aliases: Other names of target and source.
            txn_app_id: The application of a batch that is written only once.
            txn_version: The number of the batch, which grows from batch to batch.

        Examples:
            >>> merge = t.merge(rows, "t.id = s.id").when_matched_update_all()
            >>> merge.when_not_matched_insert_all().execute()
        """
        token = self._token(txn_app_id, txn_version, branch)
        request = deferred.MergeRequest(
            deferred.for_several_passes(source, "The source of a merge"),
            on,
            branch=branch,
            snapshot_properties=self._summary(snapshot_properties, token),
            case_sensitive=case_sensitive,
            names=deferred.Names(*aliases),
            token=token,
        )
        return deferred.MergeBuilder(request, self._run_merge, self._before_retry)

    def _run_merge(self, request: deferred.MergeRequest) -> deferred.ChangedRows:
        settings = request.branch, request.snapshot_properties, request.case_sensitive
        counts, within = deferred.ChangedRows(), session_of(request.source)
        with within, self._changes() as changes, changes.batch(request.token) as is_new:
            if is_new:
                verb = changes.row_verb("merge", *settings, request.names)
                spark = on_spark.needed_session()
                counts = changes.add_row_change(
                    verb,
                    lambda context: on_spark.merge_on_spark(
                        verb, context, request.source, request.on, request.clauses, spark
                    ),
                )
        counts = deferred.ChangedRows() if changes.was_skipped else counts
        return self._counted(counts, request.branch)

    def dynamic_partition_overwrite(
        self,
        df: deferred.RowSource,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        engine: Engine | None = None,
        distribution_mode: Distribution | None = None,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> None:
        """Replace the partitions that get rows. The other partitions stay unchanged.

        Args:
            df: A Spark DataFrame, or Arrow or pandas rows.
            branch: The branch to commit to, main by default.
            snapshot_properties: Entries of the snapshot's summary.
            case_sensitive: Whether names of columns are case-sensitive.
            engine: As for `append`.
            distribution_mode: As for `append`.
            txn_app_id: The application of a batch that is written only once.
            txn_version: The number of the batch, which grows from batch to batch.

        Examples:
            >>> t.dynamic_partition_overwrite(rows)
        """
        token = self._token(txn_app_id, txn_version, branch)
        summary = self._summary(snapshot_properties, token)
        with self._changes() as changes, changes.batch(token) as is_new:
            if is_new:
                plan = changes.save_plan("partitions", branch, summary, case_sensitive)
                files = changes.write(df, plan, engine, distribution_mode)
                changes.actions.extend(plan.actions(changes.io, files))

    def add_files(
        self,
        paths: str | Sequence[str],
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        check_duplicate_files: bool = True,
        partition_filter: Mapping[str, object] | None = None,
        parallelism: int = 8,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> None:
        """Add Parquet, ORC or Avro files, or a Hive-style folder, without rewriting them.

        Files without field ids are read by name: the table gets a name mapping if it has none.

        - `paths`: Files or a folder.
        - `check_duplicate_files`: Refuse files that the table already has.
        - `partition_filter`: Add only these partition folders, as {"day": "2024-01-01"}. Timestamps
          in names of folders are in the session's time zone, or in UTC.
        - `parallelism`: The number of threads that read footers.

        Raises:
            InvalidInputError: A file does not fit, or the table already has it.

        Examples:
            >>> t.add_files("/data/orders/part-0.parquet")
        """
        token = self._token(txn_app_id, txn_version, branch)
        summary = self._summary(snapshot_properties, token)
        with self._changes() as changes, changes.batch(token) as is_new:
            if not is_new:
                return
            metadata = changes.metadata()
            zone = session_time_zone()
            options = deferred.import_options(metadata, partition_filter, parallelism, zone)
            imported = deferred.files_to_add(metadata, changes.io, paths, options)
            action = deferred.AddFiles(
                imported.files,
                metadata,
                check_duplicate_files=check_duplicate_files,
                branch=branch,
                snapshot_properties=summary,
            )
            action.check(metadata, changes.io)
            changes.actions.append(action)


def _overwrite(
    changes: deferred.StagedChanges,
    added: tuple[DataFile, ...],
    replaced: tuple[DataFile, ...],
    predicate: Unbound,
    options: deferred.TargetOptions,
    summary: Summary | None,
    rewrites: bool,
) -> deferred.OverwriteFiles:
    return deferred.OverwriteFiles(
        added,
        replaced,
        row_filter=None if rewrites else predicate,
        deletes_filter=predicate if rewrites else None,
        planned=changes.planned(options.branch, predicate, rewrites=rewrites),
        branch=options.branch,
        snapshot_properties=summary,
        case_sensitive=options.case_sensitive,
        time_zone=options.time_zone,
        schema=changes.metadata().schema,
    )


def _parsed(predicate: str | Predicate | Unbound) -> Unbound:
    if predicate is None:
        raise InvalidInputError("overwrite_filter must be a predicate; 'true' means all rows")
    return read_by_session(predicate)
