"""A fresh process that does one thing once and prints what it took, as JSON.

    python -m benchmarks.cold_client WORK CONTENDER TABLE

`scan` prints seconds of CPU from the start of the process, imports included. `read` and `append`
start Spark and print seconds of the clock of the first use of a Python data source.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

PLAIN_ROWS = 1_000


def scan(contender: str, table: str) -> float:
    """Load a table and read all of it."""
    if contender == "ours":
        import iceberg_spark as ice  # noqa: PLC0415 (importing is what is measured)

        ice.load_table(table).scan().to_arrow()
    else:
        from pyiceberg.table import StaticTable  # noqa: PLC0415

        StaticTable.from_metadata(table).scan().to_arrow()
    return time.process_time()


def first_use(work: str, contender: str, table: str) -> float:
    """Read or append 1,000 rows by a Python data source, in a session that has run one query."""
    from benchmarks.session import session_without_java  # noqa: PLC0415

    spark = session_without_java()
    spark.dataSource.register(_ten_lines())
    rows = spark.range(PLAIN_ROWS)
    rows.collect()
    name = "pyiceberg-lite" if contender == "ours" else "ten-lines"
    start = time.perf_counter()
    if work == "read":
        assert len(spark.read.format(name).load(table).collect()) == PLAIN_ROWS
    else:
        rows.write.format(name).mode("append").save(table)
    return time.perf_counter() - start


def _ten_lines() -> type[Any]:
    from pyspark.sql.datasource import (  # noqa: PLC0415
        DataSource,
        DataSourceReader,
        DataSourceWriter,
        WriterCommitMessage,
    )

    class Reader(DataSourceReader):
        def read(self, partition: Any) -> Iterator[tuple[int]]:
            del partition
            yield from ((number,) for number in range(PLAIN_ROWS))

    class Writer(DataSourceWriter):
        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            for _ in iterator:
                pass
            return WriterCommitMessage()

    class TenLines(DataSource):
        @classmethod
        def name(cls) -> str:
            return "ten-lines"

        def schema(self) -> str:
            return "id bigint"

        def reader(self, schema: Any) -> Reader:
            del schema
            return Reader()

        def writer(self, schema: Any, overwrite: bool) -> Writer:
            del schema, overwrite
            return Writer()

    return TenLines


if __name__ == "__main__":
    work, contender, table = sys.argv[1:]
    seconds = scan(contender, table) if work == "scan" else first_use(work, contender, table)
    print(json.dumps(seconds))
