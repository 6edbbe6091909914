"""What keeps a table small, as methods of `t.maintenance`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import pyarrow as pa

from iceberg_spark.api.maintenance_arguments import (
    delete_runner,
    delete_threads,
    file_list,
    file_search,
    flag,
    milliseconds,
    position_rewrite,
    snapshot_numbers,
    snapshots_to_retain,
)
from iceberg_spark.api.progress import working
from iceberg_spark.api.staged_changes import newest
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.commits.expire_snapshots import Expiry
from iceberg_spark.commits.rewrite_manifests import RewriteManifests
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.maintenance import compaction, sketcher
from iceberg_spark.errors import CommitFailedException, CorruptFileError, ValidationException
from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.inspect.partition_statistics import (
    EarlierStatistics,
    partition_statistics,
    statistics_schema,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.check_table import Problem, TableCheck, check_table
from iceberg_spark.maintenance.compact import DataRewrite
from iceberg_spark.maintenance.expire import ExpireResult, expire_snapshots
from iceberg_spark.maintenance.file_keys import Equal
from iceberg_spark.maintenance.limits import EXPIRING
from iceberg_spark.maintenance.moved_paths import Move
from iceberg_spark.maintenance.orphan_files import (
    OrphanResult,
    OrphanSearch,
    mismatch_mode,
    old_enough,
    remove_orphan_files,
)
from iceberg_spark.maintenance.position_delete_groups import (
    plan_position_groups,
)
from iceberg_spark.maintenance.results import ManifestRewrite
from iceberg_spark.maintenance.rewritten_deletes import (
    DeletePlan,
    DeleteRewrite,
    RemovedDeletes,
    plan_conversion,
    plan_position_rewrite,
    plan_removal,
)
from iceberg_spark.maintenance.table_path import PathRewrite, RewrittenPaths, rewrite_table_path
from iceberg_spark.maintenance.table_statistics import (
    PartitionStatistics,
    TableStatistics,
    compute_partition_stats,
    compute_table_stats,
)
from iceberg_spark.maintenance.upkeep_plan import MaintenanceItem, one_by_one, plan_upkeep
from iceberg_spark.spec.arguments import check_int, names
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot


class Maintenance:
    """Maintenance of one table. Each method commits by itself and may run next to writers."""

    __slots__ = ("_catalog", "_loaded", "_take")

    def __init__(
        self, catalog: Catalog, loaded: LoadedTable, take: Callable[[LoadedTable], None]
    ) -> None:
        self._catalog = catalog
        self._loaded = loaded
        self._take = take

    def __repr__(self) -> str:
        return f"Maintenance of {self._loaded.identifier}"

    def check(self) -> TableCheck:
        """Compare the newest metadata and all its manifests with the specification.

        It finds row ids that overlap, impossible sequence numbers and counts, two deletion vectors
        for a file, references to nothing and unreadable files. It opens no data file and changes
        nothing. Memory holds a snapshot's entries, some 300 bytes per file.

        Examples:
            >>> t.maintenance.check().is_sound
        """
        try:
            loaded = self._catalog.load(self._loaded.identifier)
        except CorruptFileError as broken:
            return TableCheck((Problem("metadata", str(broken)),))
        with working(f"Checking {loaded.identifier}"):
            return check_table(loaded.metadata, loaded.io)

    def expire_snapshots(  # noqa: PLR0913 (the procedure's)
        self,
        older_than: int | datetime | None = None,
        retain_last: int | None = None,
        snapshot_ids: Iterable[int] = (),
        dry_run: bool = False,
        *,
        max_concurrent_deletes: int | None = None,
        stream_results: bool = True,
        clean_expired_metadata: bool = False,
        delete_outside: bool = False,
        spark: on_spark.SparkSession | None = None,
    ) -> ExpireResult:
        """Remove old snapshots, and delete the files that no snapshot needs any more.

        - `older_than`: Milliseconds since 1970 or a datetime with a zone; by default 5 days ago.
        - `retain_last`: By default 1. The properties `history.expire.*` set both defaults.
        - `snapshot_ids`: More snapshots to expire. Branches and tags keep their retention.
        - `dry_run`: Change nothing, and list the files.
        - `max_concurrent_deletes`: The number of threads. `stream_results` has no effect.
        - `clean_expired_metadata`: Remove partition specs and schemas that nothing needs.
        - `delete_outside`: Delete files outside the table's location too (`not_deleted`).
        - `spark`: Compares files, as an active session does for large tables.

        Raises ValidationException (`gc.enabled`), NoSuchSnapshotError, InvalidInputError.

        Examples:
            >>> t.maintenance.expire_snapshots(retain_last=5, dry_run=True)
        """
        expiry = Expiry(
            int(time.time() * 1000),
            milliseconds(older_than),
            snapshots_to_retain(retain_last),
            snapshot_numbers(snapshot_ids),
            flag(clean_expired_metadata, "clean_expired_metadata"),
        )
        flag(stream_results, "stream_results")
        with working(f"Expiring snapshots of {self._loaded.identifier}"):
            loaded, result = expire_snapshots(
                self._catalog,
                self._newest(),
                expiry,
                dry_run=dry_run,
                delete_outside=delete_outside,
                find_files=file_search(spark),
                threads=delete_threads(max_concurrent_deletes, EXPIRING.threads),
            )
        if not dry_run:
            self._moved(loaded)
        return result

    def rewrite_manifests(
        self,
        spec_id: int | None = None,
        sort_by: Sequence[str] = (),
        use_caching: bool = False,
    ) -> ManifestRewrite:
        """Write the manifests of a partition spec again, sorted by partition and of an even size.

        Scans that filter by partition then open fewer of them. Files keep their snapshot ids and
        sequence numbers. This process holds the partitions of all files; of more than
        about 50,000 files, the other columns go to the local disk.

        Args:
            spec_id: By default the current spec.
            sort_by: Partition fields to sort by, in this order.
            use_caching: Java's option; it has no effect.

        Raises:
            InvalidInputError: The spec or a field is unknown.
            CommitFailedException: Other commits came first, too often.

        Examples:
            >>> t.maintenance.rewrite_manifests(sort_by=["region"])
        """
        flag(use_caching, "use_caching")
        action = RewriteManifests(
            None if spec_id is None else check_int(spec_id, "spec_id"), names(sort_by, "sort_by")
        )
        with working(f"Rewriting manifests of {self._loaded.identifier}"):
            self._land(action)
        return ManifestRewrite(action.result.before, action.result.after)

    def _land(self, action: Action) -> None:
        loaded = self._newest()
        self._moved(commit(self._catalog, loaded.identifier, action, loaded))

    def _newest(self) -> LoadedTable:
        return newest(self._catalog, self._loaded)

    def _moved(self, loaded: LoadedTable) -> None:
        self._loaded = loaded
        self._take(loaded)

    def compute_table_stats(
        self,
        snapshot_id: int | None = None,
        columns: Sequence[str] = (),
        *,
        spark: on_spark.SparkSession | None = None,
    ) -> TableStatistics:
        """Count the distinct values of columns, into a Puffin file that Java's engines read.

        NULLs and empty strings are not counted, as in Java. Up to 4,096 values the count is exact.
        Above, it is at most 3 % off in 95 of 100 cases.

        Args:
            snapshot_id: By default the current snapshot. Its earlier statistics are replaced.
            columns: By default all columns of primitive types; "a.b" is a field of a struct.
            spark: Its tasks read the table, as those of an active session do for more than 64 MB.

        Raises:
            NoSuchSnapshotError: The snapshot does not exist.
            InvalidSchemaError: There is no such column.
            InvalidInputError: A column is not of a primitive type.

        Examples:
            >>> t.maintenance.compute_table_stats(columns=["id", "region"]).ndv
        """
        loaded = self._newest()
        number = None if snapshot_id is None else check_int(snapshot_id, "snapshot_id")
        with working(f"Counting values of {loaded.identifier}"):
            updated, result = compute_table_stats(
                self._catalog, loaded, number, names(columns, "columns"), sketcher(spark)
            )
        self._moved(updated)
        return result

    def compute_partition_stats(self, snapshot_id: int | None = None) -> PartitionStatistics:
        """Write files, rows and bytes of each partition to a file that Java's engines read.

        It starts from the nearest earlier snapshot's file and reads only newer manifests. A
        snapshot that has a file keeps it.

        Args:
            snapshot_id: By default the current snapshot.

        Raises:
            NoSuchSnapshotError: The snapshot does not exist.
            InvalidInputError: The table has no partitions.

        Examples:
            >>> t.maintenance.compute_partition_stats().partition_statistics_file
        """
        loaded = self._newest()
        metadata, io = loaded.metadata, loaded.io
        number = None if snapshot_id is None else check_int(snapshot_id, "snapshot_id")

        def compute(snapshot: Snapshot, previous: tuple[int, pa.Table] | None) -> pa.Table:
            earlier = None if previous is None else EarlierStatistics(*previous)
            return partition_statistics(metadata, io, snapshot, earlier)

        with working(f"Counting files of {loaded.identifier}"):
            updated, result = compute_partition_stats(
                self._catalog, loaded, number, statistics_schema(metadata), compute
            )
        self._moved(updated)
        return result

    def remove_orphan_files(  # noqa: PLR0913, PLR0917 (the procedure's)
        self,
        older_than: int | datetime | None = None,
        location: str | None = None,
        dry_run: bool = False,
        equal_schemes: Mapping[str, str] | None = None,
        equal_authorities: Mapping[str, str] | None = None,
        prefix_mismatch_mode: str = "ERROR",
        max_concurrent_deletes: int | None = None,
        file_list_view: str | on_spark.DataFrame | pa.Table | None = None,
        allow_recent: bool = False,
        *,
        spark: on_spark.SparkSession | None = None,
    ) -> OrphanResult:
        """Delete files in the table's folder that no snapshot names.

        Hidden files (`_`, `.`), files of tables below and links are kept. If an error is raised,
        nothing was deleted. Memory: some 500 bytes for each file that is old enough; of a table
        with 500,000 files or more, 8 bytes for each file and 500 for each orphan.

        - `older_than`: Milliseconds since 1970 or a datetime with a zone; by default 3 days ago.
        - `allow_recent`: Allow less than 24 hours ago. A running write has such files.
        - `location`: The table's, a folder of its properties `write.*.path`, or a folder below.
        - `dry_run`: List the files without deleting them.
        - `equal_schemes`, `equal_authorities`: Schemes and hosts that are equal: {"s3a": "s3"}.
        - `prefix_mismatch_mode`: For files that the metadata names under another scheme or host:
          "ERROR", "IGNORE" (keep the file) or "DELETE".
        - `max_concurrent_deletes`: The number of threads that delete files.
        - `file_list_view`: A list instead of the folder: a view's name (in `spark`), a DataFrame or
          an Arrow table with `file_path` and `last_modified`.

        Raises:
            ValidationException: It is unclear what is an orphan, or `gc.enabled` is false.
            InvalidInputError: An argument is wrong.

        Examples:
            >>> t.maintenance.remove_orphan_files(dry_run=True).orphan_file_locations
        """
        search = OrphanSearch(
            old_enough(older_than, allow_recent),
            location,
            Equal.of(equal_schemes, equal_authorities),
            mismatch_mode(prefix_mismatch_mode),
            file_list(file_list_view, spark),
            delete_threads(max_concurrent_deletes),
        )
        with working(f"Looking for orphan files of {self._loaded.identifier}"):
            return remove_orphan_files(
                self._catalog, self._loaded.identifier, search, dry_run=dry_run
            )

    def convert_equality_deletes(
        self, *, branch: str | None = None, spark: on_spark.SparkSession | None = None
    ) -> DeleteRewrite:
        """Turn equality deletes into position deletes, which are faster to read. No row changes.

        Args:
            branch: By default main.
            spark: The session whose tasks do the work; by default the active one.

        Raises:
            ValidationException: A compaction moved rows meanwhile to which the deletes apply.

        Examples:
            >>> t.maintenance.convert_equality_deletes()
        """
        return self._rewrite_deletes(plan_conversion, branch, spark)

    def rewrite_position_delete_files(
        self,
        options: Mapping[str, object] | None = None,
        where: str | Predicate | Unbound | None = None,
        *,
        branch: str | None = None,
        spark: on_spark.SparkSession | None = None,
    ) -> DeleteRewrite:
        """Bring position delete files to a good size, by the options of Java's procedure.

        Files below `min-file-size-bytes` or above `max-file-size-bytes` are rewritten, by
        partition, if there are `min-input-files` (5) of them or enough for a file; `rewrite-all`
        rewrites all. Positions in removed data files are dropped. `write.delete.granularity`
        decides whether each data file has its own. In format version 3 deletion vectors replace
        them, and existing deletion vectors stay. With `partial-progress.enabled` a part that fails
        is skipped, with a log entry, if others succeeded.

        Args:
            options: Those of Java's procedure, sizes in bytes.
            where: A predicate that chooses partitions.
            branch: By default main.
            spark: The session whose tasks do the work; by default the active one.

        Raises:
            InvalidOptionError: An option is unknown or wrong.
            ValidationException: Another commit removed a file.

        Examples:
            >>> t.maintenance.rewrite_position_delete_files({"min-input-files": 2})
        """
        request = position_rewrite(options, where, branch, spark)
        loaded = self._newest()
        with working(f"Rewriting deletes of {self._loaded.identifier}"):
            plans = plan_position_groups(loaded.metadata, loaded.io, request)
            return rewrite_deletes_of_plans(
                self._catalog, loaded, plans, branch, spark, self._moved
            )

    def rewrite_position_deletes(
        self,
        options: Mapping[str, object] | None = None,
        where: str | Predicate | Unbound | None = None,
        *,
        branch: str | None = None,
        spark: on_spark.SparkSession | None = None,
    ) -> DeleteRewrite:
        """Leave one position delete file for each data file, and drop dangling ones.

        With options or `where` it is `rewrite_position_delete_files`.

        Args:
            options: As for `rewrite_position_delete_files`.
            where: As for `rewrite_position_delete_files`.
            branch: By default main.
            spark: The session whose tasks do the work; by default the active one.

        Examples:
            >>> t.maintenance.rewrite_position_deletes()
        """
        if options or where is not None:
            return self.rewrite_position_delete_files(options, where, branch=branch, spark=spark)
        return self._rewrite_deletes(plan_position_rewrite, branch, spark)

    def remove_dangling_deletes(self, *, branch: str | None = None) -> RemovedDeletes:
        """Remove delete files that apply to no data file from the table.

        Args:
            branch: By default main.

        Raises:
            ValidationException: An older data file came meanwhile to which one of them applies.

        Examples:
            >>> t.maintenance.remove_dangling_deletes().removed_delete_files
        """
        loaded = self._newest()
        with working(f"Looking for dangling deletes of {self._loaded.identifier}"):
            action, result = plan_removal(loaded.metadata, loaded.io, branch)
            if result.removed_delete_files:
                loaded = commit(self._catalog, loaded.identifier, action, loaded)
        self._moved(loaded)
        return result

    def rewrite_data_files(
        self,
        strategy: str | None = None,
        sort_order: str | None = None,
        where: str | Predicate | Unbound | None = None,
        options: Mapping[str, object] | None = None,
        branch: str | None = None,
        spark: on_spark.SparkSession | None = None,
    ) -> DataRewrite:
        """Rewrite data files that are too small, too large or have many deletes. No row changes.

        Deletes that are committed meanwhile are no conflict. Groups whose files others removed are
        planned again. Spark's tasks do the work if a session is passed, or active and there is more
        than 64 MB; otherwise this process does.

        Args:
            strategy: "binpack" (default) or "sort".
            sort_order: "a desc nulls last, b" or "zorder(a, b)"; by default the table's order.
            where: Chooses files. All rows of a file that may match are rewritten.
            options: Those of Java's procedure, sizes in bytes.
            branch: By default main.
            spark: The session whose tasks do the work.

        Raises:
            InvalidInputError: An argument or an option is wrong.
            CommitFailedException: Too many commits of `partial-progress` failed.

        Examples:
            >>> t.maintenance.rewrite_data_files("sort", "zorder(id, amount)", "region = 'eu'")
        """
        loaded = self._newest()
        work = compaction(
            self._catalog, loaded, strategy, sort_order, where, options or {}, branch, spark
        )
        try:
            with working(f"Compacting {self._loaded.identifier}"):
                return work.execute()
        finally:
            self._moved(work.loaded)

    def rewrite_table_path(
        self,
        source_prefix: str,
        target_prefix: str,
        start_version: str | None = None,
        end_version: str | None = None,
        staging_location: str | None = None,
        create_file_list: bool = True,
    ) -> RewrittenPaths:
        """Rewrite the metadata for a copy of the table elsewhere. The table itself stays unchanged.

        Metadata files, manifest lists, manifests and position deletes go to the staging folder,
        with paths below `target_prefix`. Copy all files of the list, then register the table by
        `latest_version`.

        Args:
            source_prefix: The beginning of the paths to replace.
            target_prefix: What replaces it.
            start_version: A metadata file in the log: only what came after it.
            end_version: The last metadata file; by default the current one.
            staging_location: The staging folder; by default one below the table's metadata.
            create_file_list: Write a list of the files to copy, "source,target" a line.

        Raises:
            InvalidInputError: An argument is wrong.
            ValidationException: A path is outside `source_prefix`.

        Examples:
            >>> moved = t.maintenance.rewrite_table_path(t.location(), "s3://lake/orders")
            >>> moved.file_list_location
        """
        move = Move.of(source_prefix, target_prefix)
        lists_files = flag(create_file_list, "create_file_list")
        request = PathRewrite(move, start_version, end_version, staging_location, lists_files)
        with working(f"Rewriting paths of {self._loaded.identifier}"):
            return rewrite_table_path(self._catalog, self._loaded.identifier, request)

    def plan(self) -> tuple[MaintenanceItem, ...]:
        """Return what is worth doing, why, and at what cost; nothing for a healthy table.

        Reads manifests, and lists the folder of a table with at most 50,000 data files.

        Examples:
            >>> for item in t.maintenance.plan():
            ...     print(item.action, item.reason, item.gain)
        """
        with working(f"Looking after {self._loaded.identifier}"):
            return plan_upkeep(self._catalog, self._newest())

    def run(self, dry_run: bool = False) -> dict[str, object]:
        """Do what `plan` returns, and return the results by action; a dry run returns the items.

        Each action is planned on the table that the previous one left, and commits by itself.
        Properties that the plan proposes (`update_properties`) are left to you.

        Args:
            dry_run: Return the items of the plan, and do nothing.

        Examples:
            >>> t.maintenance.run()
        """
        if flag(dry_run, "dry_run"):
            return {item.action: item for item in self.plan()}
        items = one_by_one(self._catalog, self._newest)
        return {item.action: getattr(self, item.action)() for item in items}

    def _rewrite_deletes(
        self,
        planner: Callable[[TableMetadata, FileIO, str | None], DeletePlan],
        branch: str | None,
        spark: on_spark.SparkSession | None,
    ) -> DeleteRewrite:
        loaded = self._newest()
        with working(f"Rewriting deletes of {self._loaded.identifier}"):
            planned = planner(loaded.metadata, loaded.io, branch)
            if not planned.removed:
                self._take(loaded)
                return DeleteRewrite()
            return rewrite_planned_deletes(
                self._catalog, loaded, planned, branch, spark, self._moved
            )


_log = logging.getLogger(__name__)


def rewrite_deletes_of_plans(
    catalog: Catalog,
    loaded: LoadedTable,
    plans: Sequence[DeletePlan],
    branch: str | None,
    spark: on_spark.SparkSession | None,
    take: Callable[[LoadedTable], None],
) -> DeleteRewrite:
    """Carry plans out, each in a commit of its own; skip one that conflicts if another succeeded.

    Raises ValidationException, CommitFailedException if none succeeded.
    """
    done: list[DeleteRewrite] = []
    for index, plan in enumerate(plans):
        try:
            done.append(rewrite_planned_deletes(catalog, loaded, plan, branch, spark, take))
        except (ValidationException, CommitFailedException):
            if not done and index == len(plans) - 1:
                raise
            _log.warning("A rewrite of deletes of %s failed", loaded.identifier, exc_info=True)
    return DeleteRewrite.total([DeleteRewrite(), *done])


def rewrite_planned_deletes(
    catalog: Catalog,
    loaded: LoadedTable,
    planned: DeletePlan,
    branch: str | None,
    spark: on_spark.SparkSession | None,
    take: Callable[[LoadedTable], None],
) -> DeleteRewrite:
    """Write the new delete files, commit them, and hand the table over; return what was done."""
    io = loaded.io
    new = delete_runner(spark)(planned.work, planned.tasks, io)
    result = planned.result(new)  # nothing is left to do once it has landed
    with CleanupOnFailure(io, [file.file_path for file in new.written]) as commit_state:
        action = planned.action(new, branch)
        take(commit(catalog, loaded.identifier, action, loaded, commit_state=commit_state))
    return result
