"""Any rows of any nested schema, in any slices, are in each format's file as they were given."""

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.formats.avro.data_writer import AvroFileWriter, avro_layout
from iceberg_spark.formats.file_writer import WriterProperties
from iceberg_spark.formats.metrics_modes import metrics_modes
from iceberg_spark.formats.orc_writer import OrcFileWriter, orc_layout
from iceberg_spark.formats.parquet_writer import ParquetFileWriter, parquet_layout
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.schema import Schema
from tests.properties.test_read_evolution import Ids, fields, value_of
from tests.unit.read.files import context, read, task

OPTIONS = WriterProperties({})


def writer(file_format: FileFormat, path: Path, schema: Schema) -> Any:
    sink, modes = path.open("wb"), metrics_modes(schema, {})
    match file_format:
        case FileFormat.PARQUET:
            return ParquetFileWriter(sink, parquet_layout(schema, OPTIONS, modes, {}))
        case FileFormat.ORC:
            layout = orc_layout(schema, OPTIONS, modes)
            return OrcFileWriter(sink, layout, lambda: path.open("rb"))
        case _:
            return AvroFileWriter(sink, avro_layout(schema, to_arrow(schema), OPTIONS, {}))


@st.composite
def tables(draw: Any) -> tuple[Schema, list[dict], list[tuple[int, int]]]:
    """A schema, rows of it, and slices of these rows as (first, count)."""
    schema = Schema(*fields(draw, Ids(), 3))
    rows = [
        {one.name: value_of(draw, one.field_type) for one in schema.fields}
        for _ in range(draw(st.integers(1, 12)))
    ]
    firsts = draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=3))
    return schema, rows, [(first, draw(st.integers(1, len(rows) - first))) for first in firsts]


@settings(max_examples=150)
@given(tables(), st.sampled_from([FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO]))
def test_rows_read_as_they_were_written(given_table, file_format):
    schema, rows, slices = given_table
    whole = pa.Table.from_pylist(rows, schema=to_arrow(schema))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        target = writer(file_format, path, schema)
        for first, count in slices:
            target.write(whole.slice(first, count))
        target.close()
        found = read(context(schema), task(str(path), file_format=file_format)).to_pylist()
    assert found == [row for first, count in slices for row in rows[first : first + count]]
