"""Read whole files through the common port."""

from pathlib import Path

import pyarrow as pa

from iceberg_spark.arrow.evolve import evolution, needed_leaves
from iceberg_spark.arrow.file_fields import file_fields, ids_of
from iceberg_spark.formats.data_file import FileBatch, ReadRequest
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.name_mapping import from_schema
from iceberg_spark.spec.schema import Schema

IO = FsspecIO()
DATA = Path(__file__).parent / "data"


def read_file(path: Path, file_format: FileFormat, wanted: Schema, *, by_name: bool = False):
    """Return the wanted columns of all rows as one table."""
    names = ids_of(from_schema(wanted)) if by_name else None
    with open_data_file(IO, str(path), file_format) as file:
        fields = file_fields(file.schema, names)
        request = ReadRequest(fields, needed_leaves(fields, wanted.fields, {}))
        evolve = evolution(file.output_fields(request), wanted.fields, {}, str(path))
        return pa.Table.from_batches(
            [evolve.apply(batch.rows) for batch in file.batches(request)], evolve.schema
        )


def batches(path: Path, file_format: FileFormat, columns: list[str], **rest) -> list[FileBatch]:
    """Return the batches of some top-level columns, as the reader gives them."""
    with open_data_file(IO, str(path), file_format) as file:
        fields = file_fields(file.schema)
        leaves = frozenset(leaf for f in fields if f.name in columns for leaf in f.leaves)
        return list(file.batches(ReadRequest(fields, leaves, **rest)))


def spans(found: list[FileBatch]) -> list[tuple[int, int]]:
    return [(batch.first_row, batch.rows.num_rows) for batch in found]
