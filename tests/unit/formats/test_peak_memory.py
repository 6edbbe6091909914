"""Rows of a megabyte are read and written within bounds, by the peak memory of a child process.

Limits that stand at hundreds of megabytes are set lower in the child, so that few rows reach them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.formats.large_rows import large_file

_READ = """
import sys
from dataclasses import replace
from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.formats import parquet_reader
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.limits import READING
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import FileFormat
from tests.unit.formats.large_rows import peak_megabytes
parquet_reader.READING = replace(READING, whole_group_bytes=32 << 20, pages_bytes=8 << 20)
before = peak_megabytes()
rows = 0
with open_data_file(FsspecIO(), sys.argv[1], FileFormat.PARQUET) as reader:
    fields = file_fields(reader.schema)
    leaves = frozenset(leaf for field in fields for leaf in field.leaves)
    for batch in reader.batches(ReadRequest(fields, leaves)):
        rows += batch.rows.num_rows
print(rows, peak_megabytes() - before)
"""

_WRITE = """
import sys
from functools import partial
import iceberg_spark as ice
from iceberg_spark.write import data_file_writer
from iceberg_spark.write.rolling_files import RollingFiles
from tests.unit.formats.large_rows import COLUMNS, large_batches, peak_megabytes
parts = ["id"] if sys.argv[2] == "partitioned" else []
table = ice.create_table(sys.argv[1], COLUMNS, partition_by=parts)
if parts:
    data_file_writer.RollingFiles = partial(RollingFiles, max_buffered_bytes=32 << 20)
before = peak_megabytes()
table.append(large_batches(96))
print(table.scan().count(), peak_megabytes() - before)
"""


def _said(script: str, *arguments: str) -> tuple[int, int]:
    child = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )
    rows, megabytes = child.stdout.split()
    return int(rows), int(megabytes)


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_row_group_of_large_values_is_not_held_at_once(tmp_path: Path, dictionary: bool):
    path = tmp_path / "f.parquet"
    large_file(str(path), dictionary=dictionary, rows=200)
    found, megabytes = _said(_READ, str(path))
    assert found == 200
    assert megabytes < 280


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["partitioned", "unpartitioned"])
def test_large_rows_are_written_within_bounds(tmp_path: Path, kind: str):
    found, megabytes = _said(_WRITE, str(tmp_path / "t"), kind)
    assert found == 96
    assert megabytes < 520
