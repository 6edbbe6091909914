"""Java and the product change the same namespaces and tables by turns; after each both agree."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from tests.java_servers.kinds import BRANCHES, HISTORY, PROPERTIES, PURGE, RENAME, V3, Kind

Row = tuple[object, ...]
_COLUMNS = "id bigint, s string, n int"
_LAYOUT = "bucket(2, id)"
_NAMES = ("id", "s", "n")


class DisagreementError(Exception):
    """The two tell something else, or something else than was done."""


@dataclass
class Turns:
    """One catalog under one name by both; `model` is what the table in hand holds."""

    java: SparkSession
    kind: Kind
    name: str
    db: str = "db"
    model: dict[int, Row] = field(default_factory=dict)
    checks: int = 0

    def __post_init__(self) -> None:
        settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".cache-enabled": "false"}
        settings |= {f".{key}": value for key, value in self.kind.javas.items()}
        for key, value in settings.items():
            self.java.conf.set(f"spark.sql.catalog.{self.name}{key}", value)
        self.ours = ice.load_catalog(self.name, **self.kind.ours)

    def sql(self, text: str) -> list[Row]:
        """Java's answer; CAT stands for the catalog, DB for the namespace in it."""
        text = text.replace("DB", f"CAT.{self.db}").replace("CAT", self.name)
        return [tuple(row) for row in self.java.sql(text).collect()]

    def table(self, name: str) -> Table:
        return self.ours.load_table(f"{self.db}.{name}")

    def same(self, what: str, found: Any, wanted: Any) -> None:
        self.checks += 1
        if found != wanted:
            raise DisagreementError(f"{what}: {found}, not {wanted}")

    def rows_agree(self, name: str, what: str) -> None:
        """Rows by both are the model's, and the newest snapshot is one."""
        wanted = sorted((key, *rest) for key, rest in self.model.items())
        self.same(f"Java's rows after {what}", sorted(self.sql(f"SELECT * FROM DB.{name}")), wanted)
        table = self.table(name)
        self.same(f"our rows after {what}", _rows(table.scan().to_arrow()), wanted)

    def metadata_agrees(self, name: str, what: str) -> None:
        """History, references, columns, files and the metadata file are the same to both."""
        table, at = self.table(name), f"DB.{name}"
        history = [(s.snapshot_id, s.parent_snapshot_id) for s in table.snapshots()]
        javas = f"SELECT snapshot_id, parent_id FROM {at}.snapshots"
        self.same(f"snapshots after {what}", sorted(history), sorted(self.sql(javas)))
        refs = sorted((key, ref.snapshot_id) for key, ref in table.refs().items())
        self.same(
            f"refs after {what}", refs, sorted(self.sql(f"SELECT name, snapshot_id FROM {at}.refs"))
        )
        files = sorted(table.inspect.files()["file_path"].to_pylist())
        self.same(
            f"files after {what}",
            files,
            sorted(p for (p,) in self.sql(f"SELECT file_path FROM {at}.files")),
        )
        columns = [
            (f.name, f.dataType.simpleString())
            for f in self.java.table(f"{self.name}.{self.db}.{name}").schema
        ]
        ours = [(f.name, f.dataType.simpleString()) for f in table.scan().to_df(self.java).schema]
        self.same(f"columns after {what}", ours, columns)
        if HISTORY not in self.kind.lacks:
            newest = self.sql(f"SELECT file FROM {at}.metadata_log_entries")[-1:]
            self.same(f"metadata file after {what}", [(table.metadata_location,)], newest)
        self.same(
            f"faults after {what}", [str(one) for one in table.maintenance.check().problems], []
        )


def _rows(found: pa.Table) -> list[Row]:
    return sorted(zip(*found.to_pydict().values(), strict=True)) if found.num_columns else []


def _of(columns: Sequence[str], rows: Iterable[Row]) -> pa.Table:
    types = {"id": pa.int64(), "n": pa.int32()}
    values = zip(*rows, strict=True)
    arrays = [
        pa.array(one, types.get(name, pa.string()))
        for name, one in zip(columns, values, strict=True)
    ]
    return pa.table(arrays, names=list(columns))


def take_turns(java: SparkSession, kind: Kind, name: str) -> int:
    """Return how many things were compared. Raises DisagreementError."""
    turns = Turns(java, kind, name)
    namespaces(turns)
    versions = ("2", "2") if V3 in kind.lacks else ("2", "3")
    for number, (version, mode) in enumerate(
        zip(versions, ("copy-on-write", "merge-on-read"), strict=True)
    ):
        settings = {"format-version": version, "commit.retry.num-retries": "1"}
        settings |= {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
        table = f"t{number}"
        rows_change(turns, table, settings, by_java=bool(number))
        tables_evolve(turns, table)
        if BRANCHES not in kind.lacks:
            branches(turns, table)
        frames(turns, table)
        upkeep(turns, table)
        names_change(turns, table)
    return turns.checks


def namespaces(turns: Turns) -> None:
    """Each makes one; both list both, and their properties."""
    turns.sql("CREATE NAMESPACE DB")
    turns.ours.create_namespace("other")
    turns.same("namespaces", sorted(turns.ours.list_namespaces()), [("db",), ("other",)])
    turns.same(
        "Java's namespaces", sorted(turns.sql("SHOW NAMESPACES IN CAT")), [("db",), ("other",)]
    )
    if PROPERTIES not in turns.kind.lacks:
        turns.sql("ALTER NAMESPACE CAT.other SET PROPERTIES ('team' = 'java')")
        turns.ours.update_namespace_properties("other", updates={"owner": "us"})
        found = turns.ours.load_namespace_properties("other")
        turns.same("properties", (found["team"], found["owner"]), ("java", "us"))
        shown = str(turns.sql("DESCRIBE NAMESPACE EXTENDED CAT.other"))
        turns.same("Java's properties", ("team,java" in shown, "us" in shown), (True, True))


def rows_change(turns: Turns, name: str, settings: dict[str, str], *, by_java: bool) -> None:
    """Appends, overwrites, deletes, updates and merges of both."""
    turns.model.clear()
    if by_java:
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items())
        turns.sql(
            f"CREATE TABLE DB.{name} ({_COLUMNS}) USING iceberg PARTITIONED BY ({_LAYOUT}) "
            f"TBLPROPERTIES ({listed})"
        )
    else:
        at = f"{turns.db}.{name}"
        turns.ours.create_table(at, _COLUMNS, partition_by=_LAYOUT, properties=settings)
    rows_come_and_go(turns, name)
    rows_are_merged(turns, name)


def rows_come_and_go(turns: Turns, name: str) -> None:
    """Appends, on a handle that Java has overtaken too, deletes and updates."""
    table = turns.table(name)
    table.append(_of(_NAMES, [(1, "a", 10), (2, "b", 20), (3, "c", 30)]))
    turns.sql(f"INSERT INTO DB.{name} VALUES (4, 'd', 40), (5, 'e', NULL)")
    table.append(_of(_NAMES, [(6, "f", 60)]))
    turns.model |= {1: ("a", 10), 2: ("b", 20), 3: ("c", 30), 4: ("d", 40)}
    turns.model |= {5: ("e", None), 6: ("f", 60)}
    turns.rows_agree(name, "appends")
    turns.table(name).delete("id = 2")
    turns.sql(f"DELETE FROM DB.{name} WHERE id = 3")
    del turns.model[2], turns.model[3]
    turns.rows_agree(name, "deletes")
    turns.table(name).update({"s": "'A'"}, where="id = 1")
    turns.sql(f"UPDATE DB.{name} SET n = 41 WHERE id = 4")
    turns.model |= {1: ("A", 10), 4: ("d", 41)}
    turns.rows_agree(name, "updates")


def rows_are_merged(turns: Turns, name: str) -> None:
    """Merges, overwrites and an upsert."""
    turns.sql(
        f"MERGE INTO DB.{name} t USING (SELECT 5L id, 'E' s UNION ALL SELECT 7L, 'g') u "
        "ON t.id = u.id WHEN MATCHED THEN UPDATE SET s = u.s "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, u.s)"
    )
    merge = turns.table(name).merge(_of(_NAMES, [(6, "F", 61), (8, "h", 80)]), "t.id = s.id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    turns.model |= {5: ("E", None), 7: ("g", None), 6: ("F", 61), 8: ("h", 80)}
    turns.rows_agree(name, "merges")
    turns.metadata_agrees(name, "merges")
    turns.table(name).overwrite(_of(_NAMES, [(9, "i", 90)]), overwrite_filter="id = 8")
    del turns.model[8]
    turns.model[9] = ("i", 90)
    turns.rows_agree(name, "our overwrite")
    turns.sql(f"INSERT OVERWRITE DB.{name} SELECT id, s, n + 1 FROM DB.{name} WHERE id <> 7")
    del turns.model[7]
    turns.model |= {1: ("A", 11), 4: ("d", 42), 6: ("F", 62), 9: ("i", 91)}
    turns.rows_agree(name, "Java's overwrite")
    turns.table(name).upsert(_of(_NAMES, [(9, "I", 92)]), ["id"])
    turns.model[9] = ("I", 92)
    turns.rows_agree(name, "an upsert")


def tables_evolve(turns: Turns, name: str) -> None:
    """Columns and specs change by both, and rows come under each."""
    turns.sql(f"ALTER TABLE DB.{name} ADD COLUMN x string")
    turns.table(name).update_schema().rename_column("s", "text").commit()
    turns.sql(f"ALTER TABLE DB.{name} ALTER COLUMN n TYPE bigint")
    turns.table(name).update_spec().add_field("truncate(1, text)").commit()
    turns.sql(f"INSERT INTO DB.{name} VALUES (20, 'java', 5000000000, 'x')")
    columns = pa.schema(
        [("id", pa.int64()), ("text", pa.string()), ("n", pa.int64()), ("x", pa.string())]
    )
    more = {"id": [21], "text": ["ours"], "n": [None], "x": ["y"]}
    turns.table(name).append(pa.table(more, columns))
    turns.model = {key: (*row, None) for key, row in turns.model.items()}
    turns.model |= {20: ("java", 5_000_000_000, "x"), 21: ("ours", None, "y")}
    turns.rows_agree(name, "evolution")
    turns.sql(f"ALTER TABLE DB.{name} DROP PARTITION FIELD bucket(2, id)")
    turns.table(name).update_schema().delete_column("x").commit()
    turns.table(name).update_properties().set({"made-by": "us"}).commit()
    turns.sql(f"ALTER TABLE DB.{name} SET TBLPROPERTIES ('team' = 'java')")
    found = turns.table(name).properties()
    turns.same("properties", (found["made-by"], found["team"]), ("us", "java"))
    shown = dict(turns.sql(f"SHOW TBLPROPERTIES DB.{name}"))
    turns.same("Java's properties", (shown["made-by"], shown["team"]), ("us", "java"))
    turns.model = {key: row[:-1] for key, row in turns.model.items()}
    turns.rows_agree(name, "more evolution")
    turns.metadata_agrees(name, "evolution")


def branches(turns: Turns, name: str) -> None:
    """A branch that both write, a tag, time travel, and the way back into main."""
    table = turns.table(name)
    head = table.current_snapshot()
    assert head is not None
    table.manage_snapshots().create_branch(head.snapshot_id, "side").commit()
    turns.sql(f"INSERT INTO DB.{name}.branch_side VALUES (30, 'j', 1)")
    columns = table.scan().to_arrow().schema
    turns.table(name).append(
        pa.table({"id": [31], "text": ["o"], "n": [2]}, columns), branch="side"
    )
    turns.sql(f"ALTER TABLE DB.{name} CREATE TAG eoy AS OF VERSION {head.snapshot_id}")
    turns.rows_agree(name, "changes of a branch")
    wanted = sorted([*((k, *r) for k, r in turns.model.items()), (30, "j", 1), (31, "o", 2)])
    turns.same("our branch", _rows(turns.table(name).scan(branch="side").to_arrow()), wanted)
    turns.same(
        "Java's branch", sorted(turns.sql(f"SELECT * FROM DB.{name} VERSION AS OF 'side'")), wanted
    )
    turns.table(name).manage_snapshots().fast_forward("main", "side").commit()
    turns.model |= {30: ("j", 1), 31: ("o", 2)}
    turns.rows_agree(name, "a fast forward")
    tagged = turns.table(name).scan(tag="eoy").to_arrow()
    turns.same(
        "the tag's rows",
        sorted(turns.sql(f"SELECT * FROM DB.{name} VERSION AS OF 'eoy'")),
        _rows(tagged),
    )
    turns.metadata_agrees(name, "branches")


def frames(turns: Turns, name: str) -> None:
    """Rows go and come by Spark's tasks, which make their own storage."""
    frame = turns.java.createDataFrame(
        [(40, "spark", 4), (41, "spark", 5)], "id bigint, text string, n bigint"
    )
    turns.table(name).append(frame)
    turns.model |= {40: ("spark", 4), 41: ("spark", 5)}
    turns.rows_agree(name, "a frame")
    read = turns.table(name).scan().to_df(turns.java)
    turns.same(
        "a frame of ours",
        sorted(map(tuple, read.collect())),
        sorted((k, *r) for k, r in turns.model.items()),
    )


def upkeep(turns: Turns, name: str) -> None:
    """Each compacts and expires; no row is lost."""
    turns.table(name).maintenance.rewrite_data_files(options={"rewrite-all": "true"})
    turns.rows_agree(name, "our compaction")
    named, system = f"'{turns.db}.{name}'", "CALL CAT.system"
    every = "map('rewrite-all', 'true')"
    turns.sql(f"{system}.rewrite_data_files(table => {named}, options => {every})")
    turns.rows_agree(name, "Java's compaction")
    turns.sql(f"CALL CAT.system.rewrite_manifests('{turns.db}.{name}')")
    turns.rows_agree(name, "Java's manifests")
    if HISTORY not in turns.kind.lacks:
        now = int(time.time() * 1000)
        turns.table(name).maintenance.expire_snapshots(older_than=now - 5000)
        turns.rows_agree(name, "our expiry")
        stamp = "TIMESTAMP '2100-01-01 00:00:00'"
        expire = f"table => {named}, older_than => {stamp}, retain_last => 1"
        turns.sql(f"{system}.expire_snapshots({expire})")
        turns.rows_agree(name, "Java's expiry")
    turns.metadata_agrees(name, "upkeep")


def names_change(turns: Turns, name: str) -> None:
    """A table is renamed by both, dropped by one and gone for the other, with its files."""
    at = name
    if RENAME not in turns.kind.lacks:
        turns.ours.rename_table(f"{turns.db}.{name}", f"{turns.db}.r{name}")
        turns.rows_agree(f"r{name}", "our rename")
        turns.sql(f"ALTER TABLE DB.r{name} RENAME TO {turns.db}.j{name}")
        at = f"j{name}"
        turns.rows_agree(at, "Java's rename")
    turns.same("tables", turns.ours.list_tables(turns.db), [(turns.db, at)])
    turns.same("Java's tables", [row[1] for row in turns.sql("SHOW TABLES IN DB")], [at])
    turns.sql("CREATE TABLE DB.javas (id bigint) USING iceberg")
    turns.table("javas").append(pa.table({"id": [1]}))
    purge = PURGE not in turns.kind.lacks
    turns.ours.drop_table(f"{turns.db}.{at}", purge=purge)
    turns.sql(f"DROP TABLE DB.javas{' PURGE' if purge else ''}")
    turns.same("tables after drops", turns.ours.list_tables(turns.db), [])
    turns.same("Java's tables after drops", turns.sql("SHOW TABLES IN DB"), [])
