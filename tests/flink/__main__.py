"""Tables that Flink writes by upserts are read, and ours by Flink: `make flink`.

A Flink of one process runs for each turn, with Iceberg's runtime for it, both from Maven Central.
Not part of the tests: a turn takes a minute on a machine with other work.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from fcntl import LOCK_EX, flock
from pathlib import Path

import pyarrow as pa

import iceberg_spark as ice
from tests.servers.java_jars import SPARK_JARS, jars, java

HERE = Path(__file__).parent
TURN_S = 300
OF_SPARK = ("slf4j-api", "log4j-slf4j2-impl", "log4j-api", "log4j-core", "jcl-over-slf4j",
            "hadoop-client-api", "hadoop-client-runtime")  # fmt: skip
OPENED = ("lang", "nio", "time", "util", "util.concurrent", "net")
UPSERTS = "'format-version'='2', 'write.upsert.enabled'='true'"
Rows = list[tuple[int, str | None]]


def main() -> int:
    """Take the turns; returns 0 where both read the same rows after each."""
    with tempfile.TemporaryDirectory(prefix="flink-") as name:
        folder = Path(name)
        place = folder / "w" / "db" / "t"
        expected = _flinks_turn(folder)
        table = ice.load_table(str(place))
        _same("rows that Flink upserted", _ours(table), expected)
        _same(
            "faults of what Flink wrote", [str(x) for x in table.maintenance.check().problems], []
        )
        table.upsert(pa.table({"id": [1, 7], "name": ["A", "g"]}), ["id"])
        table.update_properties().set({"write.delete.mode": "merge-on-read"}).commit()
        table.refresh().delete("id = 3")
        newer = ice.create_table(
            str(folder / "w" / "db" / "v3"),
            "id bigint, name string",
            properties={"format-version": "3", "write.delete.mode": "merge-on-read"},
        )
        newer.append(pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]}))
        newer.refresh().delete("id = 1")
        read = _flink(folder, ["SELECT * FROM c.db.t", "SELECT * FROM c.db.v3"])
        _same("our upserts and deletes read by Flink", read[0], _ours(table.refresh()))
        _same("our deletion vector read by Flink", read[1], [(2, None), (3, "c")])
        _flink(folder, ["INSERT INTO c.db.t VALUES (7, 'G'), (8, 'h')"])
        _same("an upsert of Flink's on ours", _ours(table.refresh())[-2:], [(7, "G"), (8, "h")])
    return 0


def _flinks_turn(folder: Path) -> Rows:
    """Have Flink make a table by upserts, some of a key twice in a commit."""
    columns = "(id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED)"
    statements = [
        "CREATE DATABASE c.db",
        f"CREATE TABLE c.db.t {columns} WITH ({UPSERTS})",
        "INSERT INTO c.db.t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        "INSERT INTO c.db.t VALUES (2, 'B'), (4, 'd'), (4, 'D')",
    ]
    _flink(folder, statements)
    return [(1, "a"), (2, "B"), (3, "c"), (4, "D")]


def _ours(table: ice.Table) -> Rows:
    found = table.scan().to_arrow().sort_by("id")
    return list(zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True))


def _same(what: str, found: Sequence[object], wanted: Sequence[object]) -> None:
    if list(found) != list(wanted):
        raise SystemExit(f"{what}: {found}, not {wanted}")
    print(f"{what}: {len(found)} as wanted", flush=True)


def _flink(folder: Path, statements: Sequence[str]) -> list[Rows]:
    """Run statements in a Flink of its own; returns the rows of each SELECT, sorted."""
    catalog = (
        "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', "
        f"'warehouse'='file://{folder / 'w'}')"
    )
    script = folder / "statements.sql"
    script.write_text("\n".join([catalog, *statements]))
    opens = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in OPENED]
    command = [
        java("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx768m", *opens,
        f"-Dlog4j2.configurationFile=file:{HERE.parents[1] / 'conf' / 'log4j2.properties'}",
        "-cp", _class_path(), "FlinkSql", str(script),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=TURN_S, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    found: list[Rows] = []
    for line in done.stdout.splitlines():
        if line == "SELECT":
            found.append([])
        elif line.startswith("ROW "):
            number, _, text = line.removeprefix("ROW ").partition(" ")
            found[-1].append((int(number), None if text == "null" else text))
    return [sorted(rows) for rows in found]


def _class_path() -> str:
    folder = jars(HERE / "flink.xml")
    of_spark = [str(jar) for name in OF_SPARK for jar in sorted(SPARK_JARS.glob(f"{name}*.jar"))]
    source = HERE / "FlinkSql.java"
    path = ":".join([*of_spark, f"{folder}/*"])
    classes = folder / f"classes-{source.stat().st_mtime_ns}"
    with (folder / "classes.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (classes / "FlinkSql.class").exists():
            compiled = [java("javac"), "-cp", path, "-d", str(classes), str(source)]
            subprocess.run(compiled, check=True)
    return f"{classes}{os.pathsep}{path}"


if __name__ == "__main__":
    sys.exit(main())
