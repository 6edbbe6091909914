"""Spark's own Parquet reader on a real S3, where its Hadoop reaches what the table reaches."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.servers.java_jars import jars
from tests.servers.processes import ROOT
from tests.servers.s3_servers import versitygw_server

PROCESS_S = 300
ROWS = sorted(
    [part, number]
    for part in ("a", "b c%20ü", "d")
    for number in range(5)
    if (part, number) != ("a", 1)
)
NATIVE = [
    "3 files: native by field id, with position deletes",
    "1 file: native by field id, with equality deletes by 1 set of keys",
]
NO_FILE_SYSTEM = ["4 files: arrow: Spark has no file system for s3://bucket"]
OTHERS = "4 files: arrow: storage properties for s3://bucket are the table's, not Spark's"
EXPECTED = {
    "nothing is set": NO_FILE_SYSTEM,
    "with fs.s3a.secret.key": NO_FILE_SYSTEM,
    "with fs.s3.impl": NATIVE,
    "another key": [f"{OTHERS} (s3.access-key-id)"],
    "the bucket's key": NATIVE,
    "another server": [f"{OTHERS} (s3.endpoint)"],
    "as s3a": NATIVE,
}


def test_spark_reads_s3_where_its_hadoop_has_the_tables_server_and_keys() -> None:
    found = run()
    assert {case: one["engines"] for case, one in found.items()} == EXPECTED
    for case, one in found.items():
        assert one["rows"] == ROWS, case
        assert one["files"] == (4 if EXPECTED[case] == NATIVE else 0), case
        assert one["filtered"] == 3, case


def run() -> dict[str, Any]:
    """What a process with `hadoop-aws` of Spark's Hadoop says of each case."""
    folder = jars(Path(__file__).parents[1] / "servers" / "hadoop_aws.xml")
    with versitygw_server() as server:
        given = server.properties
        keys = [given[f"s3.{name}"] for name in ("endpoint", "access-key-id", "secret-access-key")]
        names = ",".join(map(str, sorted(folder.glob("*.jar"))))
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark.native_on_s3", *keys, names],
            cwd=ROOT, capture_output=True, text=True, timeout=PROCESS_S, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return {one["case"]: one for one in map(json.loads, done.stdout.splitlines())}
