"""Values that belong to a file, joined to the rows that Spark read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what every PySpark program calls it
from pyspark.sql.types import LongType, StructField

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.io.location import normalise
from iceberg_spark.spark.deletes.files_with_deletes import FileKey
from iceberg_spark.spark.deletes.limits import POSITIONS
from iceberg_spark.spark.session.expressions import expression

UNKNOWN_FILE = (
    "A data file was read whose size or path differs from what the metadata says, so that its "
    "deletes cannot be told; read with the Arrow engine"
)
"""Without quotes, so that it can be part of an expression."""
FILE_OF_ROW = "__iceberg_file_of_row"
_FILE, _IS_LISTED = "__iceberg_file", "__iceberg_known"


def file_field(frame: DataFrame, name: str) -> Column:
    """Return a field of `_metadata` of a relation, to be made a column right above the relation.

    Only there Spark reads no other fields of it: `row_index` can't be read twice (`row_index`).
    """
    return frame.metadataColumn("_metadata")[name]


def with_file_values(
    frame: DataFrame,
    columns: Mapping[str, Column],
    file_key: FileKey,
    files: pa.Table,
    values: pa.Table,
) -> DataFrame:
    """Return the frame with `columns` and those of `values`, which has a row for each of `files`.

    The frame is one relation over `files` (columns `file_path`, as metadata spells it, and
    `file_size_in_bytes`). Reading raises where a row comes from a file that isn't among them,
    rather than to guess. The driver sends the values to every task: some bytes a file. Numbers of
    few files are part of an expression: sending and joining them took longer than all else of a
    short query.
    """
    same = {name: number for name in values.column_names if (number := _same(values.column(name)))}
    added = {**columns, **{name: expression(text) for name, text in same.items()}}
    values = values.drop_columns(list(same))
    if values.num_columns:
        added[FILE_OF_ROW] = file_field(frame, file_key)
    frame = frame.withColumns(added) if added else frame
    if not values.num_columns:
        return frame
    numbers = all(pa.types.is_integer(kind) for kind in values.schema.types)
    if file_key == "file_size" and numbers and len(files) <= POSITIONS.few_files:
        sizes = files.column("file_size_in_bytes").to_pylist()
        return frame.withColumns(
            {n: _by_size(sizes, values.column(n)) for n in values.column_names}
        )
    if file_key == "file_size":
        keys = files.column("file_size_in_bytes").combine_chunks()
        rows = values.append_column(_FILE, keys)
    else:
        paths, places = _spellings(frame, files.column("file_path").to_pylist())
        rows = values.take(places).append_column(_FILE, pa.array(paths, pa.string()))
    rows = rows.append_column(_IS_LISTED, pa.array([True] * len(rows), pa.bool_()))
    file_rows = F.broadcast(frame.sparkSession.createDataFrame(rows))
    joined = frame.join(file_rows, F.col(FILE_OF_ROW) == F.col(_FILE), "left_outer")
    unknown = F.raise_error(F.lit(UNKNOWN_FILE)).cast("boolean")
    checked = F.when(F.col(_IS_LISTED).isNull(), unknown)
    return joined.where(checked.otherwise(F.lit(True)))


def _same(values: Any) -> str | None:
    """Return the number that all files have as an expression, None where they differ."""
    if not pa.types.is_integer(values.type) or values.null_count or len(pc.unique(values)) != 1:
        return None
    return f"cast({values[0].as_py()}L as {_kind(values.type)})"


def _kind(number: pa.DataType) -> str:
    return "bigint" if pa.types.is_int64(number) else "int"


def _by_size(sizes: Sequence[int], values: Any) -> Column:
    """Return the value of a row's file, told by its size; raises for a size of none of them."""
    kind = _kind(values.type)
    cases = " ".join(
        f"when {size}L then cast({'null' if value is None else value} as {kind})"
        for size, value in zip(sizes, values.to_pylist(), strict=True)
    )
    return expression(
        f"case {FILE_OF_ROW} {cases} else cast(raise_error('{UNKNOWN_FILE}') as {kind}) end"
    )


def _spellings(frame: DataFrame, paths: Sequence[str]) -> tuple[list[str], Any]:
    """Return what Spark may call the files, and for each name the place of its file.

    Spark's names are percent-encoded and local ones start with `file:/`; a name in a delete file
    or a manifest is whatever its writer wrote, never encoded.
    """
    index_of = {normalise(path): index for index, path in enumerate(paths)}
    indices: dict[str, int] = {}
    for name in frame.inputFiles():
        index = index_of.get(normalise(unquote(name)))
        if index is None:
            raise CorruptFileError(f"Spark reads {name}, which the plan does not have")
        for spelling in _both(name):
            indices[spelling] = index
    return list(indices), pa.array(list(indices.values()), pa.int64())


def _both(name: str) -> tuple[str, ...]:
    local = "file:" + name.removeprefix("file://") if name.startswith("file:///") else name
    return tuple(dict.fromkeys((name, local)))


ROW_INDEX = "_tmp_metadata_row_index"
"""Under this name in a read schema Spark's reader gives the place as a column of its own. Through
`_metadata` Spark makes a struct for every row, which takes longer than to read a number."""
ROW_INDEX_FIELD = StructField(ROW_INDEX, LongType(), True)
_NONE = "This Spark gives no row_index of Parquet files: read with the Arrow engine"


def or_raise(text: str, kind: str) -> str:
    """Return an SQL expression of type `kind` that raises where it and the place are NULL.

    A Spark that knows no such column would read NULL, and no delete would be applied.
    """
    return f"coalesce({text}, if({ROW_INDEX} is null, {no_place(kind)}, null))"


def no_place(kind: str) -> str:
    """Return an SQL expression of type `kind` that raises, for a row whose place is NULL."""
    return f"cast(raise_error('{_NONE}') as {kind})"
