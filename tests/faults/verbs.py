"""Every verb that needs no Spark, on a small table, and what a table looks like to a reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.new_manifests import read_entries
from iceberg_spark.errors import NoSuchTableError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.scan.planned_files import data_file

FIRST = "metadata/v1.metadata.json"
Verb = Callable[[str], object]
State = Any

QUICK = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "2"}
OLD = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "2",
}


def rows(*ids: int, k: str = "a") -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "k": [k] * len(ids)})


def make(where: str, verb: str = "") -> None:
    """A table of two partitions, two snapshots and one file of deletes, made again in place.

    Before some verbs more has happened, so that there is something to do.
    """
    table = ice.create_table(
        where, "id bigint, k string", partition_by=["k"], properties={**QUICK, **OLD}
    )
    table.append(pa.concat_tables([rows(1, 2, 3), rows(4, 5, k="b")]))
    table.upsert(rows(5, 6, k="b"), ["id", "k"])
    if verb in BEFORE:
        BEFORE[verb](where)


def load(where: str) -> Table:
    return ice.load_table(where)


def create(where: str) -> None:
    ice.create_table(f"{where}/new", "id bigint", properties=QUICK)


def dynamic(where: str) -> None:
    load(where).dynamic_partition_overwrite(rows(40, k="b"))


def delete_merge_on_read(where: str) -> None:
    load(where).delete("id = 2")


def delete_copy_on_write(where: str) -> None:
    table = load(where)
    with table.transaction() as tx:
        tx.set_properties({"write.delete.mode": "copy-on-write"})
        tx.delete("id = 2")


def apply_changes(where: str) -> None:
    """A row is replaced, one deleted, one new, and a delete comes before its row."""
    given = rows(1, 2, 7, 9).append_column("__at", pa.array([5, 5, 5, 5], pa.int64()))
    load(where).apply_changes(
        given, keys=["id"], sequence_by="__at", apply_as_deletes="id in (2, 9)"
    )


def transaction(where: str) -> None:
    with load(where).transaction() as tx:
        tx.append(rows(7, 8))
        tx.delete("id = 1")
        tx.set_properties({"owner": "me"})


def long_transaction(where: str) -> None:
    with load(where).transaction() as tx:
        tx.append(rows(7, 8))
        tx.delete("id = 1")
        tx.set_properties({"owner": "me"})
        tx.update_schema().add_column("note", "string").commit()
        tx.overwrite(rows(9, k="c"), "k = 'b'")


def add_column(where: str) -> None:
    load(where).update_schema().add_column("note", "string").commit()


def another_appends(where: str) -> None:
    load(where).append(rows(100))


def stale_append(where: str) -> None:
    """Another commit lands first: ours is refused once and made again."""
    with load(where).transaction() as tx:
        tx.append(rows(7))
        another_appends(where)


def several_deletes(where: str) -> None:
    load(where).update_properties().set({"write.delete.mode": "merge-on-read"}).commit()
    load(where).append(rows(10, 11))
    load(where).delete("id in (2, 10)")
    load(where).delete("id = 11")


def needless_delete(where: str) -> None:
    """The file that the keys are deleted from goes, an older one of another partition stays."""
    table = load(where)
    with table.transaction() as tx:
        (task,) = (each for each in table.scan().plan_files() if each.delete_files)
        tx.overwrite_files(delete=[data_file(task)])


def unused_columns(where: str) -> None:
    load(where).update_schema().add_column("note", "string").commit()
    load(where).update_schema().delete_column("note").commit()


BEFORE: dict[str, Verb] = {
    "rewrite_position_deletes": several_deletes,
    "remove_dangling_deletes": needless_delete,
    "expire_metadata": unused_columns,
}
"""What has happened to the table before a verb."""

VERBS: dict[str, Verb] = {
    "create": create,
    "append": lambda where: load(where).append(rows(7, 8, k="c")),
    "append_after_another": stale_append,
    "overwrite": lambda where: load(where).overwrite(rows(9)),
    "overwrite_filter": lambda where: load(where).overwrite(rows(9), "id > 2"),
    "dynamic_overwrite": dynamic,
    "delete": delete_merge_on_read,
    "delete_copy_on_write": delete_copy_on_write,
    "delete_whole_partition": lambda where: load(where).delete("k = 'b'"),
    "upsert": lambda where: load(where).upsert(rows(1, 7), ["id", "k"]),
    "apply_changes": apply_changes,
    "transaction": transaction,
    "long_transaction": long_transaction,
    "add_column": add_column,
    "partition_by": lambda where: load(where).update_spec().add_field("id", "bucket[4]").commit(),
    "properties": lambda where: load(where).update_properties().set({"owner": "me"}).commit(),
    "tag": lambda where: load(where).manage_snapshots().create_tag(None, "kept").commit(),
    "expire": lambda where: load(where).maintenance.expire_snapshots(older_than=1 << 60),
    "rewrite_manifests": lambda where: load(where).maintenance.rewrite_manifests(),
    "table_statistics": lambda where: load(where).maintenance.compute_table_stats(),
    "partition_statistics": lambda where: load(where).maintenance.compute_partition_stats(),
    "compact": lambda where: load(where).maintenance.rewrite_data_files(
        options={"rewrite-all": True}
    ),
    "compact_by_parts": lambda where: load(where).maintenance.rewrite_data_files(
        options={
            "rewrite-all": True,
            "partial-progress.enabled": True,
            "partial-progress.max-commits": 1,
            "partial-progress.max-failed-commits": 0,  # else a commit that failed is only counted
        }
    ),
    "compact_sorted": lambda where: load(where).maintenance.rewrite_data_files(
        sort_order="zorder(id, k)", options={"rewrite-all": True}
    ),
    "rewrite_position_deletes": lambda where: load(where).maintenance.rewrite_position_delete_files(
        {"rewrite-all": True}
    ),
    "remove_dangling_deletes": lambda where: load(where).maintenance.remove_dangling_deletes(),
    "expire_metadata": lambda where: load(where).maintenance.expire_snapshots(
        older_than=1 << 60, clean_expired_metadata=True
    ),
    "convert_deletes": lambda where: load(where).maintenance.convert_equality_deletes(),
}


def remove_orphans(where: str) -> None:
    load(where).maintenance.remove_orphan_files(older_than=1 << 42, allow_recent=True)


CARE: dict[str, Verb] = {
    "remove_orphans": remove_orphans,
    "rewrite_paths": lambda where: load(where).maintenance.rewrite_table_path(where, "s3://b/t"),
    "plan_care": lambda where: load(where).maintenance.plan(),
}
"""Upkeep that commits nothing."""


def state(where: str) -> State:
    """What a fresh reader sees; raises if anything that the table names is missing."""
    try:
        table = ice.load_table(where)
    except NoSuchTableError:
        return None
    metadata, storage = table.metadata, FsspecIO()
    for snapshot in metadata.snapshots.values():
        for manifest in read_manifest_list(storage, snapshot, metadata):
            for path in read_entries(storage, metadata, manifest).column("file_path").to_pylist():
                storage.size(path)
    for file in (*metadata.statistics, *metadata.partition_statistics):
        assert storage.size(file["statistics-path"]) == file["file-size-in-bytes"]
    found = table.scan().to_arrow().to_pylist()
    return (
        sorted(tuple(row.items()) for row in found),
        [str(field.name) for field in metadata.schema.fields],
        [field.name for field in metadata.spec.fields],
        sorted(metadata.properties.items()),
        sorted(metadata.refs),
        len(metadata.snapshots),
        len(metadata.statistics),
        len(metadata.partition_statistics),
    )


def new_state(where: str) -> State:
    """The table that `create` makes below one."""
    below = f"{where}/new"
    return state(below) if FsspecIO().exists(f"{below}/{FIRST}") else None


def states(where: str) -> tuple[State, State]:
    """The table, and the one that `create` makes below it."""
    return state(where), new_state(where)
