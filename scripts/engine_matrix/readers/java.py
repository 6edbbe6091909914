"""Java Iceberg, in a Spark session."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import functions as sf

from scripts.engine_matrix.worker import Read
from tests.oracle.session import java_session


@contextmanager
def open_reader(folder: str) -> Iterator[Read]:
    """Yield a function from a metadata file to the table's rows."""
    with java_session(Path(folder)) as spark:

        def read(metadata: str) -> pa.Table:
            frame = spark.read.format("iceberg").load(metadata)
            for name, kind in frame.dtypes:
                if kind == "variant":
                    frame = frame.withColumn(name, sf.to_json(name))
            return frame.toArrow()

        yield read
