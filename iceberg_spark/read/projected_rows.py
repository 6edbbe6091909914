"""Rows of one file with exactly the wanted columns: what readers of delete files share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from iceberg_spark.arrow.evolve import evolution, needed_leaves
from iceberg_spark.arrow.file_fields import Path, file_fields
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.formats.data_file import ReadRequest, check_counts
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spec.types import NestedField


def projected_rows(
    io: FileIO,
    file: DeleteFile,
    columns: Sequence[NestedField],
    names: Mapping[Path, int],
    bound: Bound = ALWAYS_TRUE,
) -> Iterator[pa.RecordBatch]:
    """Yield a delete file's rows with the wanted columns, whatever else is in it.

    `names` gives ids to columns that have none in the file. Row groups that `bound` excludes
    are skipped; rows are not filtered. Raises what `open_data_file` and `evolution` raise.
    """
    with open_data_file(io, file.file_path, file.file_format) as reader:
        size, rows = file.file_size_in_bytes, file.record_count
        check_counts(file.file_path, size=(reader.file_size, size), rows=(reader.rows, rows))
        fields = file_fields(reader.schema, names)
        leaves = needed_leaves(fields, columns, {})
        request = ReadRequest(fields, leaves, filter=bound)
        evolve = evolution(reader.output_fields(request), columns, {}, file.file_path)
        for batch in reader.batches(request):
            yield evolve.apply(batch.rows)
