"""Verbs on the table `db.t`, each by a writer that loads the table itself, and what readers see."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import iceberg_spark as ice
from iceberg_spark import Table, TableCatalog
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.interleavings.schedule import NAME, Writer

WAREHOUSE = f"memory://{NAME}/wh"
OUTSIDE = f"memory://{NAME}/files/added.parquet"
OTHER_COLUMNS = f"memory://{NAME}/files/bare.parquet"
QUICK = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "2"}
MERGES = {"commit.manifest.min-count-to-merge": "4"}
FIRST_NEW_ID = 10
"""Verbs write rows with greater ids, or other values."""
State = dict[str, Any]


def catalog() -> TableCatalog:
    return ice.load_catalog(NAME, type="memory", warehouse=WAREHOUSE)


def load(name: str = "db.t") -> Table:
    return catalog().load_table(name)


def rows(*ids: int, k: str = "a", v: int = 0) -> pa.Table:
    count = len(ids)
    return pa.table({"id": pa.array(ids, pa.int64()), "k": [k] * count, "v": [v] * count})


def make(format_version: int) -> None:
    """A table of two partitions with deletes, another table `db.log`, and files to be added."""
    names = catalog()
    if not names.namespace_exists("db"):
        names.create_namespace("db")
    table = names.create_table(
        "db.t",
        "id bigint, k string, v bigint",
        partition_by=["k"],
        properties={**QUICK, **MERGES, "format-version": str(format_version)},
    )
    names.create_table("db.log", "id bigint", properties=QUICK)
    table.append(pa.concat_tables([rows(1, 2, 3), rows(4, 5, k="b")]))
    table.append(rows(6, 7))
    table.append(rows(9, k="b"))
    if format_version > 1:
        table.upsert(rows(5, 8, k="b", v=1), ["id", "k"])
        with table.transaction() as tx:
            tx.set_properties({"write.delete.mode": "merge-on-read"})
            tx.delete("id = 7")
            tx.set_properties({"write.delete.mode": "copy-on-write"})
    _write(OUTSIDE.replace("added", "k=a/added"), rows(90, v=9).drop_columns("k"))
    _write(OTHER_COLUMNS.replace("bare", "k=b/bare"), rows(91).drop_columns("k"))


def _write(path: str, data: pa.Table) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(data, sink)
    FsspecIO().replace(path, sink.getvalue().to_pybytes())


def delete_merge_on_read() -> None:
    with load().transaction() as tx:
        tx.set_properties({"write.delete.mode": "merge-on-read"})
        tx.delete("id = 2")


def transaction() -> None:
    with load().transaction() as tx:
        tx.append(rows(20, 21, k="c"))
        tx.delete("id = 20")


def two_tables() -> None:
    with catalog().transaction() as tx:
        tx.load_table("db.t").append(rows(70))
        tx.load_table("db.log").append(pa.table({"id": pa.array([70], pa.int64())}))


def branch() -> None:
    with load().transaction() as tx:
        tx.manage_snapshots().create_branch(None, "audit").commit()
        tx.append(rows(71), branch="audit")


def publish() -> None:
    load().manage_snapshots().fast_forward("main", "audit").commit()


def branch_and_publish() -> None:
    branch()
    publish()


def require_column() -> None:
    update = load().update_schema(allow_incompatible_changes=True)
    update.add_column("n", "int", required=True).commit()
    load().overwrite(rows(72).append_column("n", pa.array([1], pa.int32())))


def apply_changes() -> None:
    changes = rows(1, 22, v=5).append_column("__seq", pa.array([5, 5], pa.int64()))
    load().apply_changes(changes, keys=["id", "k"], sequence_by="__seq")


def upgrade_and_append() -> None:
    table = load()
    version = table.metadata.format_version + 1
    table.update_properties().set({"format-version": str(version)}).commit()
    table.append(rows(30, k="a"))


def rename_and_add() -> None:
    table = load()
    table.update_schema().rename_column("v", "old").commit()
    table.update_schema().add_column("v", "bigint").commit()


def drop_key_and_compact() -> None:
    load().update_schema().delete_column("id").commit()
    load().maintenance.rewrite_data_files(options={"rewrite-all": True})


def drop_and_create() -> None:
    catalog().drop_table("db.t")
    table = catalog().create_table("db.t", "id bigint, k string, v bigint", properties=QUICK)
    table.append(rows(50))


def rename_and_create() -> None:
    catalog().rename_table("db.t", "db.renamed")
    table = catalog().create_table("db.t", "id bigint, k string, v bigint", properties=QUICK)
    table.append(rows(51))


def register_again() -> None:
    path = load().metadata_location
    catalog().register_table("db.second", path)
    load("db.second").append(rows(60))


def tag() -> None:
    load().manage_snapshots().create_tag(None, "kept").commit()


def roll_back() -> None:
    table = load()
    oldest = min(table.metadata.snapshots.values(), key=lambda each: each.timestamp_ms)
    table.manage_snapshots().rollback_to_snapshot(oldest.snapshot_id).commit()


def maintain(action: str, **options: Any) -> Writer:
    """A writer that runs one action of `table.maintenance`."""
    return lambda: getattr(load().maintenance, action)(**options)


VERBS: dict[str, Writer] = {
    "append": lambda: load().append(rows(10, k="a")),
    "append_elsewhere": lambda: load().append(rows(11, k="c")),
    "overwrite": lambda: load().overwrite(rows(40)),
    "overwrite_filter": lambda: load().overwrite(rows(41, k="a"), "id > 2 and id < 5"),
    "overwrite_partition": lambda: load().overwrite(rows(42, k="b"), "k = 'b'"),
    "dynamic_overwrite": lambda: load().dynamic_partition_overwrite(rows(43, k="b")),
    "delete": lambda: load().delete("id = 1"),
    "delete_merge_on_read": delete_merge_on_read,
    "delete_partition": lambda: load().delete("k = 'b'"),
    "upsert": lambda: load().upsert(rows(1, 23, v=7), ["id", "k"]),
    "apply_changes": apply_changes,
    "transaction": transaction,
    "two_tables": two_tables,
    "branch": branch,
    "add_files": lambda: load().add_files(OUTSIDE.replace("added", "k=a/added")),
    "add_other_file": lambda: load().add_files(OTHER_COLUMNS.replace("bare", "k=b/bare")),
    "add_column": lambda: load().update_schema().add_column("note", "string").commit(),
    "drop_column": lambda: load().update_schema().delete_column("v").commit(),
    "rename_column": lambda: load().update_schema().rename_column("v", "w").commit(),
    "add_spec": lambda: load().update_spec().add_field("bucket(4, id)").commit(),
    "remove_spec": lambda: load().update_spec().remove_field("k").commit(),
    "sort_order": lambda: load().update_sort_order().asc("id").commit(),
    "properties": lambda: load().update_properties().set({"owner": "me"}).commit(),
    "tag": tag,
    "roll_back": roll_back,
    "expire": maintain("expire_snapshots", older_than=1 << 60),
    "rewrite_manifests": maintain("rewrite_manifests"),
    "compact": maintain("rewrite_data_files", options={"rewrite-all": True}),
    "rewrite_position_deletes": maintain(
        "rewrite_position_delete_files", options={"rewrite-all": True}
    ),
    "convert_deletes": maintain("convert_equality_deletes"),
    "remove_dangling": maintain("remove_dangling_deletes"),
    "rename_table": lambda: catalog().rename_table("db.t", "db.renamed"),
    "drop": lambda: catalog().drop_table("db.t"),
    "purge": lambda: catalog().purge_table("db.t"),
}

SEQUENCES: dict[str, Writer] = {
    "branch_and_publish": branch_and_publish,
    "require_column": require_column,
    "rename_and_add": rename_and_add,
    "drop_key_and_compact": drop_key_and_compact,
    "upgrade_and_append": upgrade_and_append,
    "drop_and_create": drop_and_create,
    "rename_and_create": rename_and_create,
    "register_again": register_again,
}
"""Several commits of another writer, one after the other."""


def state() -> State:
    """What a reader sees of each table of the catalog; raises if a table can't be read."""
    names = catalog()
    return {name[-1]: _table_state(names.load_table(name)) for name in names.list_tables("db")}


def _table_state(table: Table) -> Any:
    metadata = table.metadata
    problems = table.maintenance.check().problems
    assert not problems, [str(problem) for problem in problems]
    scanned = _scan(table)
    ids = [number for row in scanned if (number := row.pop("_row_id", None)) is not None]
    assert len(ids) == len(set(ids)), f"row ids are there twice: {sorted(ids)}"
    return (
        sorted(repr(sorted(row.items(), key=lambda item: item[0])) for row in scanned),
        [field.name for field in metadata.schema.fields],
        [field.name for field in metadata.spec.fields],
        len(metadata.sort_order.fields),
        metadata.format_version,
        sorted(metadata.refs),
        metadata.properties.get("owner"),
    )


def load_all_row_ids() -> dict[str, int]:
    """The row ids of the rows that `make` wrote, by table and row."""
    found: dict[str, int] = {}
    for name in catalog().list_tables("db"):
        table = catalog().load_table(name)
        for row in _scan(table) if _has_lineage(table) else ():
            number = row.pop("_row_id")
            if number is not None and row.get("id", FIRST_NEW_ID) < FIRST_NEW_ID:
                found[f"{table.metadata.table_uuid}: {row}"] = number
    return found


def _has_lineage(table: Table) -> bool:
    return table.metadata.rules.has_row_lineage


def _scan(table: Table) -> Any:
    names = [field.name for field in table.metadata.schema.fields]
    wanted = (*names, "_row_id") if _has_lineage(table) else tuple(names)
    return table.scan(selected_fields=wanted).to_arrow().to_pylist()
