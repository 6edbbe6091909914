"""Batches are bounded by their bytes, in every format."""

from pathlib import Path

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest

from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.limits import READING
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import FileFormat
from tests.unit.formats.avro_files import avro_file, one_column

MEGA = 1024 * 1024
ROWS = 80


def _write(path: Path, form: FileFormat) -> None:
    values = [bytes([at]) * MEGA for at in range(ROWS)]
    match form:
        case FileFormat.PARQUET:
            pq.write_table(pa.table({"c": values}), path, use_dictionary=False)
        case FileFormat.ORC:
            po.write_table(pa.table({"c": values}), path)
        case _:
            path.write_bytes(avro_file(one_column("binary"), [{"c": one} for one in values]))


@pytest.mark.parametrize("form", [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO])
def test_a_batch_of_large_values_has_few_rows(tmp_path: Path, form: FileFormat):
    path = tmp_path / "f"
    _write(path, form)
    with open_data_file(FsspecIO(), str(path), form) as reader:
        fields = file_fields(reader.schema)
        leaves = frozenset(leaf for field in fields for leaf in field.leaves)
        sizes, rows, first = [], 0, []
        for batch in reader.batches(ReadRequest(fields, leaves)):
            sizes.append(batch.rows.nbytes)
            first.append(batch.first_row)
            rows += batch.rows.num_rows
    assert rows == ROWS
    assert max(sizes) <= READING.batch_bytes + MEGA
    assert len(sizes) > 2 and first == sorted(set(first))
