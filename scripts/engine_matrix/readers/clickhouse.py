"""ClickHouse as a library, with the table function icebergLocal."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import chdb
import pyarrow as pa
import pyarrow.parquet as pq

from scripts.engine_matrix.worker import Read


@contextmanager
def open_reader(folder: str) -> Iterator[Read]:
    """Yield a function from a metadata file to the table's rows."""
    connection = chdb.connect(":memory:")
    answer = Path(folder, "answer.parquet")

    def read(metadata: str) -> pa.Table:
        answer.unlink(missing_ok=True)
        source = f"icebergLocal('{Path(metadata).parent.parent}')"
        # Not as bytes: chdb 4.4.0 returned damaged bytes of its results for some tables.
        connection.query(f"SELECT * FROM {source} INTO OUTFILE '{answer}' FORMAT Parquet")
        return pq.read_table(answer)

    yield read
    connection.close()
