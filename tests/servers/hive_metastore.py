"""A Hive metastore of its own for tests, on loopback, from PySpark's own jars with Derby.

Nothing is compiled: Python makes the server's objects in a JVM that ends with this process. The
metastore gives up locks that nobody kept alive for `LOCKS_EXPIRE_S`, as one in production does.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from iceberg_spark.lazy import LazyModule
from tests.servers.processes import HOST, ROOT, accepts, free_port, running

LOCKS_EXPIRE_S = 3
LOCK_TIMES = {
    "iceberg.hive.lock-check-min-wait-ms": "20",
    "iceberg.hive.lock-check-max-wait-ms": "200",
    "iceberg.hive.lock-heartbeat-interval-ms": "500",
}
"""Whoever waits for a lock or holds it is heard of before it expires."""

java_gateway = LazyModule("py4j.java_gateway")
_OPENED = ("java.lang", "java.net", "java.util", "java.nio", "sun.nio.ch")
_SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "datanucleus.connectionPoolingType": "hikaricp",
    "hive.metastore.schema.verification": "false",
    "hive.metastore.disallow.incompatible.col.type.changes": "false",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    "hive.txn.timeout": f"{LOCKS_EXPIRE_S}s",
}


@dataclass(frozen=True, slots=True)
class HiveMetastore:
    """A running metastore at `port`, whose databases lie in `warehouse` unless told otherwise."""

    port: int
    warehouse: Path

    @property
    def uri(self) -> str:
        return f"thrift://{HOST}:{self.port}"

    def properties(self, warehouse: Path) -> dict[str, str]:
        """A catalog's, whose locks expire no sooner than the metastore says."""
        return {"uri": self.uri, "warehouse": str(warehouse), **LOCK_TIMES}


@contextmanager
def hive_metastore() -> Iterator[HiveMetastore]:
    """Serve a new metastore while the block runs."""
    home = Path(tempfile.mkdtemp(prefix="metastore-"))
    server = HiveMetastore(free_port(), home / "warehouse")
    command = [sys.executable, "-m", "tests.servers.hive_metastore", str(server.port), str(home)]
    try:
        with running(
            command,
            home / "log",
            lambda: accepts(server.port),
            env={"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
        ):
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _jvm(home: Path) -> Any:
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    options = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    jars = Path(import_module("pyspark").__file__ or "").parent / "jars"
    port = java_gateway.launch_gateway(
        classpath=f"{jars}/*",
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        java_path=str(java),
        javaopts=[
            *("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            "-Dderby.system.durability=test",
            f"-Dderby.stream.error.file={home}/derby.log",
            f"-Dlog4j2.configurationFile=file:{ROOT}/conf/log4j2.properties",
            *options,
        ],
        die_on_exit=True,
    )
    asked = java_gateway.GatewayParameters(port=port)
    return java_gateway.JavaGateway(gateway_parameters=asked).jvm


def _serve(jvm: Any, home: Path, server: HiveMetastore) -> None:
    metastore, thrift = jvm.org.apache.hadoop.hive.metastore, jvm.org.apache.thrift
    settings = jvm.org.apache.hadoop.hive.conf.HiveConf()
    places = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:{home}/derby;create=true",
        "hive.metastore.warehouse.dir": str(server.warehouse),
    }
    for key, value in {**_SETTINGS, **places}.items():
        settings.set(key, value)
    metastore.txn.TxnDbUtil.setConfValues(settings)
    metastore.txn.TxnDbUtil.prepDb(settings)
    base = getattr(metastore, "HiveMetaStore$HMSHandler")("tests", settings, False)
    handler = metastore.RetryingHMSHandler.getProxy(settings, base, True)
    listening = thrift.transport.TServerSocket(jvm.java.net.InetSocketAddress(HOST, server.port))
    arguments = getattr(thrift.server, "TThreadPoolServer$Args")(listening)
    arguments.processor(metastore.TSetIpAddressProcessor(handler))
    arguments.transportFactory(thrift.transport.TTransportFactory())
    arguments.protocolFactory(getattr(thrift.protocol, "TBinaryProtocol$Factory")())
    serving = thrift.server.TThreadPoolServer(arguments)
    threading.Thread(target=serving.serve, daemon=True).start()
    locks = metastore.txn.TxnUtils.getTxnStore(settings)
    while True:
        time.sleep(1)
        locks.performTimeOuts()


def main(port: int, home: Path) -> None:
    """Serve until whoever started this ends it, or is gone."""
    jvm = _jvm(home)
    server = HiveMetastore(port, home / "warehouse")
    threading.Thread(target=_serve, args=(jvm, home, server), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
