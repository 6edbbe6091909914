"""Rows of one file with exactly the wanted columns: what readers of delete files share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.evolve import evolution, needed_leaves
from iceberg_spark.arrow.file_fields import Path, file_fields
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.formats.data_file import ReadRequest, check_counts
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IcebergType, NestedField, StructType


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


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """One column at any depth: `field` is its top-level column, reduced to the path to it.

    Nothing on the way is required: a column that a file lacks is NULL (or its
    `initial-default`).
    """

    field_id: int
    kind: IcebergType
    field: NestedField
    depth: int

    def of(self, column: pa.Array) -> pa.Array:
        """Return its values from the top-level column; a null struct makes them null."""
        for _ in range(self.depth):
            column = pc.struct_field(column, [0])
        return column


def leaf_columns(ids: Iterable[int], *schemas: Schema | None) -> tuple[LeafColumn, ...]:
    """Return the columns of those ids from the first schema that has each.

    Raises CorruptFileError for an id that no schema has, or one inside a list or map.
    """
    return tuple(_leaf(field_id, [s for s in schemas if s is not None]) for field_id in ids)


def _leaf(field_id: int, schemas: list[Schema]) -> LeafColumn:
    for schema in schemas:
        if schema.get(field_id) is not None:
            return _leaf_of(field_id, schema)
    raise CorruptFileError(
        f"A delete file or a filter uses field id {field_id}, which no schema of the table has"
    )


def _leaf_of(field_id: int, schema: Schema) -> LeafColumn:
    path = [schema.find_field(step_id) for step_id in schema.path_ids(field_id)]
    field = replace(path[-1], required=False)
    for parent in reversed(path[:-1]):
        if not isinstance(parent.field_type, StructType):
            name = schema.find_column_name(field_id)
            raise CorruptFileError(f"Column '{name}' is in a list or map and can't be a key")
        field = replace(parent, field_type=StructType(field), required=False)
    return LeafColumn(field_id, path[-1].field_type, field, len(path) - 1)
