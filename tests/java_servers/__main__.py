"""Java's Iceberg and the product by turns, on each catalog and store: `make java-servers`.

One JVM with Java's catalogs; a server is started for each kind. `JAVA_SERVERS="Glue,HDFS"`
takes some of them. Not part of the tests: a kind takes a minute or two.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from pyspark.sql import SparkSession

from tests.java_servers.kinds import KINDS
from tests.java_servers.turns import take_turns
from tests.oracle.session import java_session
from tests.servers.java_jars import jars

_BUNDLES = ",".join(
    f"org.apache.iceberg:iceberg-{name}"
    for name in ("aws-bundle:1.12.0", "gcp-bundle:1.11.0", "azure-bundle:1.10.0")
)
"""The newest on Maven Central (1.12.0 of Google's and Azure's is not there): foreign libraries."""
_S3A = (
    "hadoop-aws", "s3-transfer-manager", "analyticsaccelerator", "apache-client", "httpc",
)  # fmt: skip
"""What Hadoop's S3A needs beside the bundle's own library of Amazon's."""
_SERVERS = Path(__file__).parents[1] / "servers"


def main() -> int:
    """Take the turns; returns 1 where a kind failed."""
    os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"] = "access", "secret"
    asked = [name for name in os.environ.get("JAVA_SERVERS", "").split(",") if name]
    with tempfile.TemporaryDirectory(prefix="java-servers-") as home:
        found = [
            jar for name in _S3A for jar in jars(_SERVERS / "hadoop_aws.xml").glob(f"{name}*.jar")
        ]
        more = {"spark.jars": ",".join(map(str, found))}
        with java_session(Path(home), _BUNDLES, more) as java:
            failed = [
                name
                for number, name in enumerate(KINDS)
                if name in (asked or KINDS) and not _passes(java, name, Path(home) / str(number))
            ]
    print(f"failed: {', '.join(failed)}" if failed else "all agree", flush=True)
    return int(bool(failed))


def _passes(java: SparkSession, name: str, folder: Path) -> bool:
    folder.mkdir()
    began = time.monotonic()
    try:
        with KINDS[name](folder) as kind:
            checks = take_turns(java, kind, f"k{folder.name}")
    except Exception:  # noqa: BLE001 (the other kinds are tried as well)
        print(f"{name}: failed after {time.monotonic() - began:.0f} s", flush=True)
        traceback.print_exc()
        return False
    print(f"{name}: {checks} comparisons agree, {time.monotonic() - began:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
