"""The verbs that change rows: a table lands each alone, a transaction several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from iceberg_spark.api.apply_changes import add_changes, scd_type
from iceberg_spark.api.merge import MergeBuilder, MergeRequest
from iceberg_spark.api.staged_changes import StagedChanges
from iceberg_spark.commits.add_files import AddFiles
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.commits.same_schema import SameSchema
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.apply_cdc import CdcRequest
from iceberg_spark.engines.at_hand import (
    is_frame,
    read_by_session,
    session_of,
    session_time_zone,
)
from iceberg_spark.engines.cdc_input import Condition, cdc_input, column_names
from iceberg_spark.engines.delete_change import delete_change
from iceberg_spark.engines.write_changes import write_changes
from iceberg_spark.engines.write_rows import RowSource, for_several_passes, has_several_passes
from iceberg_spark.errors import (
    CommitFailedException,
    InvalidInputError,
    InvalidSchemaError,
    ValidationException,
)
from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Unbound
from iceberg_spark.row_level.cdc_plan import Choice
from iceberg_spark.row_level.row_level_change import ChangedRows, Names
from iceberg_spark.row_level.target_files import TargetOptions
from iceberg_spark.save.added_files import files_to_add, import_options
from iceberg_spark.save.save_plan import UpsertPlan
from iceberg_spark.spark.session.engine import Distribution, Engine
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.txn import Token, token_of, with_summary
from iceberg_spark.write.align_batches import AlignOptions
from iceberg_spark.write.upsert_context import live_spec_ids, upsert_context
from iceberg_spark.write.upsert_result import UpsertResult

Summary: TypeAlias = Mapping[str, str]


class RowVerbs:
    """What `Table` and `TableTransaction` do to rows.

    `branch` is main by default, `snapshot_properties` go into the snapshot's summary, and
    `case_sensitive` says how names of columns are matched. `txn_app_id` and `txn_version` name a
    batch of an application: one whose version is not above the app's last on that branch is
    skipped, so that a batch that is run again lands once.
    """

    __slots__ = ()

    def _changes(self, on_shown: bool = False) -> AbstractContextManager[StagedChanges]:
        """Return what collects the changes of one verb; they count when its block ends.

        With `on_shown` they are planned on the version that is shown, not on the newest.
        """
        raise NotImplementedError

    def _may_append_as_shown(self) -> bool:
        """Return whether an append needn't ask for the newest version first."""
        raise NotImplementedError

    def _counted(self, counts: ChangedRows, branch: str | None) -> ChangedRows:
        """Return what a verb gives back, once its changes count."""
        del branch
        return counts

    def _token(self, app_id: str | None, version: int | None, branch: str | None) -> Token | None:
        """Return the batch that a verb's arguments name."""
        return token_of(app_id, version, branch)

    def _told(self, properties: Summary | None, token: Token | None) -> Summary | None:
        """Return the snapshot properties of a verb with those of its batch."""
        return with_summary(properties, token)

    def _before_retry(self) -> object:
        """Prepare for a merge that is run once more."""

    def append(
        self,
        df: RowSource,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        engine: Engine | None = None,
        distribution_mode: Distribution | None = None,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> None:
        """Append rows: a Spark frame, or an Arrow table (then no SparkSession is needed).

        A frame is written by Spark's own Parquet writer where that can do it, else by ours in
        the Python workers; `engine` ("native" or "arrow") forces one. `distribution_mode`
        ("none", "hash", "range") stands in for the table's `write.distribution-mode`.
        """
        token = self._token(txn_app_id, txn_version, branch)
        told = self._told(snapshot_properties, token)

        def add(changes: StagedChanges) -> None:
            with changes.batch(token) as is_new:
                if is_new:
                    plan = changes.save_plan("nothing", branch, told, case_sensitive)
                    files = changes.write(df, plan, engine, distribution_mode)
                    changes.actions.extend(plan.actions(changes.io, files))

        # Rows go with every version of this schema: no need to ask for the newest one.
        if token is None and self._may_append_as_shown() and has_several_passes(df):
            try:
                with self._changes(on_shown=True) as changes:
                    changes.actions.append(SameSchema(changes.metadata().current_schema_id))
                    add(changes)
                return  # noqa: TRY300 (an interrupt here comes after the commit)
            except InvalidSchemaError:  # the newest may have the columns
                pass
        with self._changes() as changes:
            add(changes)

    def overwrite(  # noqa: PLR0913 - each is a keyword of PyIceberg's, or of the contract
        self,
        df: RowSource,
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
        """Replace the rows that match the filter (all by default) by those of a frame or table.

        Files that match in part are rewritten without the matching rows; with
        `allow_rewrite=False` they raise a ValidationException that names the file.
        """
        with session_of(df):
            predicate, time_zone = _parsed(overwrite_filter), session_time_zone()
        token = self._token(txn_app_id, txn_version, branch)
        told = self._told(snapshot_properties, token)
        with session_of(df), self._changes() as changes, changes.batch(token) as is_new:
            if not is_new:
                return
            plan = changes.save_plan("nothing", branch, told, case_sensitive)
            added = changes.write(df, plan, engine, distribution_mode)
            replaced: tuple[DataFile, ...] = ()
            rewrites = allow_rewrite and predicate != ALWAYS_TRUE
            if rewrites:
                options = TargetOptions(branch, case_sensitive, time_zone)
                change = changes.take_out(predicate, options, use_spark=is_frame(df))
                replaced = change.removed_data
                added += change.added_data
            changes.actions.append(
                OverwriteFiles(
                    added,
                    replaced,
                    row_filter=None if rewrites else predicate,
                    planned=changes.planned(branch, predicate, rewrites=rewrites),
                    branch=branch,
                    snapshot_properties=told,
                    case_sensitive=case_sensitive,
                    time_zone=time_zone,
                    schema=changes.metadata().schema,
                )
            )

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
    ) -> ChangedRows:
        """Delete the rows that match; false and null stay. Returns how many.

        Files that hold nothing else are dropped by metadata alone; the others are rewritten or
        get position deletes, as `write.delete.mode` says. With a session active any deterministic
        Spark expression will do, without one those of `scan`; with an `alias` it may call the
        table that. A ValidationException when rows that concern it were committed meanwhile.
        """
        token = self._token(txn_app_id, txn_version, branch)
        given = branch, self._told(snapshot_properties, token), case_sensitive, Names(alias)
        counts = ChangedRows()
        with self._changes() as changes, changes.batch(token) as is_new:
            if is_new:
                verb = changes.row_verb("delete", *given)
                counts = changes.add_row_change(
                    verb, lambda context: delete_change(verb, context, delete_filter)
                )
        return self._counted(ChangedRows() if changes.was_skipped else counts, branch)

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
    ) -> ChangedRows:
        """Set columns of the rows that match to SQL expressions: `{"v": "v + 1"}`.

        Runs on Spark. Values are stored as Spark's ANSI assignment says (an overflow is an
        InvalidInputError); a row whose partition changes moves. `write.update.mode` says how. With
        an `alias` expressions may call the table that.
        """
        token = self._token(txn_app_id, txn_version, branch)
        given = branch, self._told(snapshot_properties, token), case_sensitive, Names(alias)
        counts = ChangedRows()
        with self._changes() as changes, changes.batch(token) as is_new:
            if is_new:
                verb = changes.row_verb("update", *given)
                on = on_spark.needed_session()
                counts = changes.add_row_change(
                    verb,
                    lambda context: on_spark.update_on_spark(verb, context, updates, where, on),
                )
        return self._counted(ChangedRows() if changes.was_skipped else counts, branch)

    def upsert(  # noqa: PLR0913 - each is a keyword of the contract
        self,
        df: RowSource,
        keys: Sequence[str] = (),
        *,
        order_by: Sequence[str] | str = (),
        global_delete: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> UpsertResult:
        """Write changes by key as CDC writers do: the table is not read (PyIceberg's merges).

        A column `_op` says what each row does: I, U, +I, +U (INSERT, UPDATE_AFTER) write it in
        place of all rows of its key, D, -D, -U (DELETE, UPDATE_BEFORE) delete those; without it
        all rows are written. The last row of a key wins: by `order_by`, columns of `df` (ties are
        an InvalidInputError), or in input order, where a frame was not shuffled. No keys means
        the identifier fields. Keys must give the partition, unless `global_delete`.
        """
        token = self._token(txn_app_id, txn_version, branch)
        with self._changes() as changes, changes.batch(token) as is_new:
            if not is_new:
                return UpsertResult()
            metadata = changes.metadata()
            context = upsert_context(
                metadata,
                changes.context(),
                keys,
                live_specs=live_spec_ids(metadata, changes.io, branch),
                order_by=(order_by,) if isinstance(order_by, str) else order_by,
                global_delete=global_delete,
                options=AlignOptions(case_sensitive=case_sensitive),
            )
            plan = UpsertPlan(context, branch, self._told(snapshot_properties, token))
            files = write_changes(df, context, changes.io)
            result = UpsertResult.of(files)
            changes.note(files.paths)
            changes.actions.extend(plan.actions(files))
        return UpsertResult() if changes.was_skipped else result

    def apply_changes(  # noqa: PLR0913 - the names of Spark's create_auto_cdc_flow
        self,
        df: RowSource,
        keys: Sequence[str],
        sequence_by: Condition,
        *,
        apply_as_deletes: Condition | None = None,
        apply_as_truncates: Condition | None = None,
        column_list: Sequence[str] | None = None,
        except_column_list: Sequence[str] | None = None,
        stored_as_scd_type: int | str = 1,
        merge_schema: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> ChangedRows:
        """Apply changes by key in the order of a sequence, whenever and however often they come.

        `df` has a row for each change; `sequence_by` (a column; of a frame any expression) says
        which is later, and what the table has from a later change stays. `apply_as_deletes` and
        `apply_as_truncates` are conditions over the rows. All columns of `df` are taken, those of
        `column_list`, or all but `except_column_list`. Type 2 keeps what rows were, from
        `__START_AT` to before `__END_AT`. Deletes are remembered for `cdc.tombstone-retention`.
        Columns that a change names in a list column `__unavailable` keep their value (type 1).
        `merge_schema` adds columns that the table lacks, and widens types.

        Raises InvalidInputError for NULL keys and sequences, and for changes that share both.
        """
        token = self._token(txn_app_id, txn_version, branch)
        lists = column_list, except_column_list
        with cdc_input(df, sequence_by, apply_as_deletes, apply_as_truncates).held() as given:
            request = CdcRequest(
                given,
                column_names(keys, "keys") or (),
                Choice(*map(column_names, lists, ("column_list", "except_column_list"))),
                scd_type(stored_as_scd_type) == 2,
                apply_as_truncates is not None,
                branch,
                case_sensitive,
                self._told(snapshot_properties, token),
                merge_schema,
            )
            for _ in range(self._conflict_retries()):
                try:
                    return self._run_apply(request, token)
                except (ValidationException, CommitFailedException):
                    self._before_retry()
            return self._run_apply(request, token)

    def _run_apply(self, request: CdcRequest, token: Token | None) -> ChangedRows:
        counts = ChangedRows()
        with self._changes() as changes, changes.batch(token) as is_new:
            if is_new:
                counts = add_changes(changes, request)
        return ChangedRows() if changes.was_skipped else self._counted(counts, request.branch)

    def _conflict_retries(self) -> int:
        """Return how often a verb may be planned anew when others came first."""
        return 0

    def merge(
        self,
        source: RowSource,
        on: str,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        aliases: tuple[str, str] = ("t", "s"),
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> MergeBuilder:
        """Return a builder of a MERGE on Spark: add clauses, then `.execute()`.

        `source` is a Spark frame or Arrow data and is read once; `on` and the clauses call the
        target `t` and the source `s`, or what `aliases` say. `write.merge.mode` says how rows
        change.
        """
        token = self._token(txn_app_id, txn_version, branch)
        request = MergeRequest(
            for_several_passes(source, "The source of a merge"),
            on,
            branch=branch,
            snapshot_properties=self._told(snapshot_properties, token),
            case_sensitive=case_sensitive,
            names=Names(*aliases),
            token=token,
        )
        return MergeBuilder(request, self._run_merge, self._before_retry)

    def _run_merge(self, request: MergeRequest) -> ChangedRows:
        given = request.branch, request.snapshot_properties, request.case_sensitive
        counts, within = ChangedRows(), session_of(request.source)
        with within, self._changes() as changes, changes.batch(request.token) as is_new:
            if is_new:
                verb = changes.row_verb("merge", *given, request.names)
                spark = on_spark.needed_session()
                counts = changes.add_row_change(
                    verb,
                    lambda context: on_spark.merge_on_spark(
                        verb, context, request.source, request.on, request.clauses, spark
                    ),
                )
        return self._counted(ChangedRows() if changes.was_skipped else counts, request.branch)

    def dynamic_partition_overwrite(
        self,
        df: RowSource,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        engine: Engine | None = None,
        distribution_mode: Distribution | None = None,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
    ) -> None:
        """Replace the partitions that get rows; the others stay."""
        token = self._token(txn_app_id, txn_version, branch)
        told = self._told(snapshot_properties, token)
        with self._changes() as changes, changes.batch(token) as is_new:
            if is_new:
                plan = changes.save_plan("partitions", branch, told, case_sensitive)
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
        """Add Parquet, ORC or Avro files, or a Hive-style folder, as they lie, nothing rewritten.

        `partition_filter` takes only files in these partition folders, as {"day": "2024-01-01"};
        `parallelism` threads read their footers. Timestamps in names of folders are wall clocks of
        the session's zone, of UTC without one. Files without field ids are read by name: the name
        mapping is set where there is none. A file that the table has already is an
        InvalidInputError, unless `check_duplicate_files` is off.
        """
        token = self._token(txn_app_id, txn_version, branch)
        told = self._told(snapshot_properties, token)
        with self._changes() as changes, changes.batch(token) as is_new:
            if not is_new:
                return
            metadata = changes.metadata()
            zone = session_time_zone()
            options = import_options(metadata, partition_filter, parallelism, zone)
            imported = files_to_add(metadata, changes.io, paths, options)
            action = AddFiles(
                imported.files,
                metadata,
                check_duplicate_files=check_duplicate_files,
                branch=branch,
                snapshot_properties=told,
            )
            action.check(metadata, changes.io)
            changes.actions.append(action)


def _parsed(predicate: str | Predicate | Unbound) -> Unbound:
    if predicate is None:
        raise InvalidInputError("overwrite_filter must be a predicate; 'true' means all rows")
    return read_by_session(predicate)
