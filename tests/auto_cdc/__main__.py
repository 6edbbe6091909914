"""Feeds of changes applied by `apply_changes` and by Spark 4.3's own auto CDC: `make auto-cdc`.

    python -m tests.auto_cdc SEEDS [FIRST]

Spark's pipelines write to a table in memory, of the tests of Spark itself: a newer release of
that jar than 4.2.0 is not to be had, and it runs on 4.3. Not part of the tests: it needs a minute.
"""

from __future__ import annotations

import os
import random
import socket
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

import iceberg_spark as ice
from tests.cdc_model import Change, frame
from tests.servers.java_jars import jars

PIPELINES, REGISTRY, ON_CONNECT, RUNS = (  # PySpark 4.1 has no such flows
    cast(Any, import_module(f"pyspark.pipelines{name}"))
    for name in (
        "",
        ".graph_element_registry",
        ".spark_connect_graph_element_registry",
        ".spark_connect_pipeline",
    )
)
CATALOG = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
TYPE = "id bigint, name string, price double, seq bigint, op string"
BATCHES, ROWS, KEYS = 4, 25, 12
VALUES = (
    None, ("a", 1.0), ("b", None), ("a", 1.0), (None, 2.5), (None, None), ("", float("nan")),
    ("", 0.0), ("", -0.0),
)  # fmt: skip
Rows = list[tuple[Any, ...]]


def main(seeds: Sequence[int]) -> int:
    """Apply each feed four times; returns 0 where the rows are the same for both types."""
    different = 0
    with tempfile.TemporaryDirectory(prefix="auto-cdc-") as name:
        folder, session = Path(name), _session()
        feeds = {f"f{seed}": drawn(seed) for seed in seeds}
        theirs = sparks(session, folder, feeds)
        for feed, batches in feeds.items():
            for kind in (1, 2):
                found, wanted = ours(folder / f"{feed}-{kind}", batches, kind), theirs[feed, kind]
                print(
                    feed,
                    f"type {kind}:",
                    len(wanted),
                    "rows",
                    "same" if found == wanted else "DIFFERENT",
                )
                if found != wanted:
                    different += 1
                    print("  Spark's only:", sorted(set(wanted) - set(found)))
                    print("  ours only:", sorted(set(found) - set(wanted)))
    return different


def drawn(seed: int) -> list[list[Change]]:
    """Return batches of changes in any order, with repeats within and between them."""
    chosen = random.Random(seed)
    every: dict[tuple[int, int], Change] = {}
    while len(every) < BATCHES * ROWS * 2 // 3:
        change = Change(chosen.randrange(KEYS), chosen.randrange(200), chosen.choice(VALUES))
        every.setdefault((change.key, change.sequence), change)
    return [chosen.choices(list(every.values()), k=ROWS) for _ in range(BATCHES)]


def ours(place: Path, batches: Iterable[Sequence[Change]], kind: int) -> list[str]:
    """Return the rows that `apply_changes` leaves."""
    table = ice.create_table(str(place), "id bigint, name string, price double")
    for batch in batches:
        table.apply_changes(
            frame(batch),
            keys=["id"],
            sequence_by="seq",
            apply_as_deletes="op = 'D'",
            except_column_list=_except(kind),
            stored_as_scd_type=kind,
        )
    return _shown(table.refresh().scan().to_arrow().to_pylist(), kind)


def sparks(
    session: Any, folder: Path, feeds: dict[str, list[list[Change]]]
) -> dict[tuple[str, int], list[str]]:
    """Return the rows that Spark's pipeline leaves: one run of it for each batch of all feeds."""
    for number in range(BATCHES):
        for feed, batches in feeds.items():
            (folder / feed).mkdir(exist_ok=True)
            pq.write_table(frame(batches[number]), folder / feed / f"{number}.parquet")
        _run_pipeline(session, folder, feeds)
    return {
        (feed, kind): _shown(
            [r.asDict() for r in session.table(f"mem.ns.{feed}_{kind}").collect()], kind
        )
        for feed in feeds
        for kind in (1, 2)
    }


def _run_pipeline(session: Any, folder: Path, feeds: Iterable[str]) -> None:
    graph = RUNS.create_dataflow_graph(session, "mem", "ns", {})
    registry = ON_CONNECT.SparkConnectGraphElementRegistry(session, graph)
    with REGISTRY.graph_element_registration_context(registry):
        for feed in feeds:
            read = partial(session.readStream.schema(TYPE).parquet, str(folder / feed))
            PIPELINES.temporary_view(name=f"{feed}_changes")(read)
            for kind in (1, 2):
                PIPELINES.create_streaming_table(f"{feed}_{kind}")
                PIPELINES.create_auto_cdc_flow(
                    target=f"{feed}_{kind}",
                    source=f"{feed}_changes",
                    keys=["id"],
                    sequence_by="seq",
                    apply_as_deletes="op = 'D'",
                    except_column_list=_except(kind),
                    stored_as_scd_type=kind,
                )
    storage = f"file://{folder}/storage"
    run = RUNS.start_run(session, graph, [], False, [], False, storage)
    for _ in run:  # events, until it has ended; one that says FAILED is an error
        pass


def _except(kind: int) -> list[str]:
    return ["op"] if kind == 1 else ["op", "seq"]


def _shown(rows: Iterable[dict[str, Any]], kind: int) -> list[str]:
    """Upserts of equal values are one row; whose zero it has, 0.0 or -0.0, is as they came."""
    names = ["id", "name", "price", *(["seq"] if kind == 1 else ["__START_AT", "__END_AT"])]
    shown = (tuple(row[name] for name in names) for row in rows)
    return sorted(
        repr(tuple(0.0 if kind == 2 and value == 0.0 else value for value in row)) for row in shown
    )


def _session() -> Any:
    (jar,) = jars(Path(__file__).with_name("catalyst_tests.xml")).glob("*.jar")
    with socket.create_server(("localhost", 0)) as listener:
        port = listener.getsockname()[1]
    (
        SparkSession.builder.config(
            "spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin"
        )
        .config("spark.connect.grpc.binding.port", str(port))
        .config("spark.jars", str(jar))
        .config("spark.driver.extraClassPath", str(jar))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.catalog.mem", CATALOG)
        .getOrCreate()
    )
    session = ConnectSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    session.sql("CREATE NAMESPACE IF NOT EXISTS mem.ns").collect()
    return session


if __name__ == "__main__":
    count, first = (*map(int, sys.argv[1:]), 1)[:2]
    sys.exit(main(range(first, first + count)))
