"""What keeps a table small, as methods of `t.maintenance`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import pyarrow as pa

from iceberg_spark.api.delete_rewrites import carry_out, carry_out_each
from iceberg_spark.api.maintenance_arguments import (
    delete_threads,
    file_list,
    file_search,
    flag,
    milliseconds,
    position_rewrite,
    retained,
    snapshot_numbers,
)
from iceberg_spark.api.progress import working
from iceberg_spark.api.verb import newest
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.expire_snapshots import Expiry
from iceberg_spark.commits.rewrite_manifests import RewriteManifests
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.compact_table import compaction
from iceberg_spark.engines.count_values import sketcher
from iceberg_spark.errors import CorruptFileError
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
from iceberg_spark.maintenance.dangling_deletes import RemovedDeletes, plan_removal
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
from iceberg_spark.maintenance.partition_statistics import (
    PartitionStatistics,
    compute_partition_stats,
)
from iceberg_spark.maintenance.position_delete_groups import (
    plan_position_groups,
)
from iceberg_spark.maintenance.results import ManifestRewrite
from iceberg_spark.maintenance.rewritten_deletes import (
    DeletePlan,
    DeleteRewrite,
    plan_conversion,
    plan_position_rewrite,
)
from iceberg_spark.maintenance.table_path import PathRewrite, RewrittenPaths, rewrite_table_path
from iceberg_spark.maintenance.table_statistics import TableStatistics, compute_table_stats
from iceberg_spark.maintenance.upkeep_plan import MaintenanceItem, one_by_one, plan_upkeep
from iceberg_spark.spec.arguments import check_int, names
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot


class Maintenance:
    """Maintenance of one table; each method commits by itself and moves the table on."""

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
        """Read the newest metadata with all its manifests, and say what breaks the specification.

        Row ids that overlap, sequence numbers and counts that can't be, two deletion vectors for a
        file, references to nothing, files that can't be read, ...; no data file is opened, nothing
        is changed. Memory holds a snapshot's entries, some 300 bytes a file.
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
        """Remove old snapshots and delete the files that nothing reaches any more.

        `older_than` is ms since the epoch or a datetime with a zone; without it
        `history.expire.max-snapshot-age-ms` (5 days) counts, without `retain_last`
        `history.expire.min-snapshots-to-keep` (1). Branches and tags keep what their own
        retention says. `snapshot_ids` go besides. A dry run changes nothing and lists the files.
        With `clean_expired_metadata` partition specs and schemas go that nothing needs any more.
        `max_concurrent_deletes` threads delete (8); `stream_results` changes nothing.

        Only files below the table's location, as its catalog or you named it, are deleted;
        `not_deleted` names others, such as those below a `write.data.path` elsewhere.
        `delete_outside` deletes them too. A session that is given, or active for large tables,
        compares files; else this process, 200 bytes a file.

        Raises ValidationException (`gc.enabled`), NoSuchSnapshotError, InvalidInputError.
        """
        expiry = Expiry(
            int(time.time() * 1000),
            milliseconds(older_than),
            retained(retain_last),
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
        """Write the manifests of a partition spec anew: sorted by partition, of an even size.

        Scans that filter by partition then open fewer of them. `spec_id` is the current spec
        without it, `sort_by` names partition fields in another order, or some of them.
        `use_caching` is taken as Java's option and changes nothing. Files keep their snapshot ids
        and sequence numbers. This process holds some 3 KB a file.

        Raises InvalidInputError for an unknown spec or field, CommitFailedException.
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

        `columns` are all of primitive types without it; "a.b" is a field of a struct. Nulls do not
        count, nor empty texts (as in Java). Up to 4,096 values the count is exact, above it is 3 %
        off at most in 95 of 100 cases. Spark's tasks read when a session is given, or active and
        there is more than 64 MB. A snapshot that has statistics gets others.

        Raises NoSuchSnapshotError, InvalidSchemaError, InvalidInputError for nested columns.
        """
        loaded = self._newest()
        number = None if snapshot_id is None else check_int(snapshot_id, "snapshot_id")
        with working(f"Counting values of {loaded.identifier}"):
            found, result = compute_table_stats(
                self._catalog, loaded, number, names(columns, "columns"), sketcher(spark)
            )
        self._moved(found)
        return result

    def compute_partition_stats(self, snapshot_id: int | None = None) -> PartitionStatistics:
        """Write files, rows and bytes of each partition to a file that Java's engines read.

        On top of the nearest earlier snapshot's file, only what came since is read; a snapshot
        that has a file keeps it. Raises NoSuchSnapshotError, InvalidInputError for a table without
        partitions.
        """
        loaded = self._newest()
        metadata, io = loaded.metadata, loaded.io
        number = None if snapshot_id is None else check_int(snapshot_id, "snapshot_id")

        def compute(snapshot: Snapshot, known: tuple[int, pa.Table] | None) -> pa.Table:
            earlier = None if known is None else EarlierStatistics(*known)
            return partition_statistics(metadata, io, snapshot, earlier)

        with working(f"Counting files of {loaded.identifier}"):
            found, result = compute_partition_stats(
                self._catalog, loaded, number, statistics_schema(metadata), compute
            )
        self._moved(found)
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
        """Delete files below the table that nothing of it names, of any snapshot.

        `older_than` is ms since the epoch or a datetime with a zone, 3 days ago without it; less
        than 24 hours ago is refused, since a write in progress may have made such a file, unless
        `allow_recent` says that nobody writes. `location` is the table's, or a folder of its
        properties `write.*.path`, or one below. `file_list_view` (columns `file_path` and
        `last_modified`) takes the place of the listing: a view's name, a frame or an Arrow table.

        Kept are hidden files (`_` and `.` first), files of tables below, links, and whatever
        metadata may mean under another spelling. One that it has under another scheme or
        authority is an error, unless `equal_schemes` or `equal_authorities` say that they are
        one, or `prefix_mismatch_mode` is IGNORE (keep) or DELETE.

        This process holds some 500 bytes a file that is old enough. Raises ValidationException
        where it can't be told what is an orphan or `gc.enabled` is false, InvalidInputError; also
        any error of storage while looking: nothing was deleted then.
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
        """Turn equality deletes into position deletes, which are quicker to read; no row changes.

        Spark's tasks read the keys, one data file each, when a session is given or active. Raises
        ValidationException when older rows came under the deletes meanwhile, as by a compaction.
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
        """Bring position delete files to a good size, by Java's options; no row changes.

        Those below `min-file-size-bytes` or above `max-file-size-bytes` are rewritten, by
        partition, where there are `min-input-files` (5) of them or enough for a file; with
        `rewrite-all` all are. `where` chooses partitions. Positions of data files that are gone are
        left out. `write.delete.granularity` says whether each data file has its own. In format
        version 3 deletion vectors take their place, and those that are there stay.

        Raises InvalidOptionError, ValidationException when another commit removed a file; with
        `partial-progress.enabled` such a part is left out (and logged) where another landed.
        """
        asked = position_rewrite(options, where, branch, spark)
        loaded = self._newest()
        with working(f"Rewriting deletes of {self._loaded.identifier}"):
            plans = plan_position_groups(loaded.metadata, loaded.io, asked)
            return carry_out_each(self._catalog, loaded, plans, branch, spark, self._moved)

    def rewrite_position_deletes(
        self,
        options: Mapping[str, object] | None = None,
        where: str | Predicate | Unbound | None = None,
        *,
        branch: str | None = None,
        spark: on_spark.SparkSession | None = None,
    ) -> DeleteRewrite:
        """Bring many position delete files down to one for each data file; dangling ones go.

        With options or `where` it is `rewrite_position_delete_files`.
        """
        if options or where is not None:
            return self.rewrite_position_delete_files(options, where, branch=branch, spark=spark)
        return self._rewrite_deletes(plan_position_rewrite, branch, spark)

    def remove_dangling_deletes(self, *, branch: str | None = None) -> RemovedDeletes:
        """Take delete files that apply to no data file any more out of the table.

        Raises ValidationException where an older data file came meanwhile, to which one applies.
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
        """Rewrite small, large and much deleted data files to good ones; no row changes.

        `strategy` is "binpack" (default) or "sort", by `sort_order` ("a desc nulls last, b" or
        "zorder(a, b)"), else by the table's. `where` picks files: all rows of those that may match
        are rewritten. `options` are those of Java's procedure (sizes in bytes). Deletes committed
        meanwhile are no conflict; groups whose files others removed are planned anew alone.

        Spark's tasks do it when a session is given, or active and there is more than 64 MB; else
        this process does, a new file at a time, or a group at a time where rows are sorted.

        Raises InvalidInputError, InvalidOptionError, InvalidExpressionError, UnsupportedError,
        CommitFailedException where too many commits of `partial-progress` failed.
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
        """Rewrite the metadata for a table that is to be copied elsewhere; this one stays as it is.

        Metadata files, lists, manifests and position deletes go to the staging folder with paths
        below `target_prefix`; `file_list_location` lists what to copy, "source,target" a line.
        Versions are names of metadata files in the log: from `start_version` (exclusive) to
        `end_version`. Copy all, then register the table by `latest_version`.

        Raises InvalidInputError, and ValidationException for paths outside `source_prefix`.
        """
        move = Move.of(source_prefix, target_prefix)
        kept = flag(create_file_list, "create_file_list")
        asked = PathRewrite(move, start_version, end_version, staging_location, kept)
        with working(f"Rewriting paths of {self._loaded.identifier}"):
            return rewrite_table_path(self._catalog, self._loaded.identifier, asked)

    def plan(self) -> tuple[MaintenanceItem, ...]:
        """Return what is worth doing, why, and at what cost; nothing for a healthy table.

        Reads manifests, and lists the folder of a table with at most 50,000 data files.
        """
        with working(f"Looking after {self._loaded.identifier}"):
            return plan_upkeep(self._catalog, self._newest())

    def run(self, dry_run: bool = False) -> dict[str, object]:
        """Do what `plan` says, and return the results by action; a dry run returns the items.

        Each action is planned anew on what the one before has left, and commits by itself.
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
            return carry_out(self._catalog, loaded, planned, branch, spark, self._moved)
