"""Rows of a scan as a local Parquet, CSV or Arrow file, a batch at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.ipc as paipc
import pyarrow.parquet as pq
import pyarrow.types as pt

from iceberg_spark.cli.json_values import json_values
from iceberg_spark.errors import InvalidInputError

_WRITERS: dict[str, Callable[[str, pa.Schema], Any]] = {
    ".parquet": pq.ParquetWriter,
    ".csv": pacsv.CSVWriter,
    ".arrow": paipc.new_file,
}


def check_kind(file: Path) -> None:
    """Check that a file's name ends in a kind that can be written.

    Raises:
        InvalidInputError: It does not.
    """
    if file.suffix not in _WRITERS:
        raise InvalidInputError(f"Cannot write {file}: its name must end in {', '.join(_WRITERS)}")


def write_rows(reader: pa.RecordBatchReader, file: Path) -> int:
    """Write all batches to a file, and return the number of rows.

    The file appears under its name when it is complete. CSV has no nested and no binary values:
    nested ones are written as JSON, binary ones as hexadecimal text.

    Raises:
        InvalidInputError: The folder does not exist or cannot be written.
    """
    is_csv = file.suffix == ".csv"
    schema = _text_schema(reader.schema) if is_csv else reader.schema
    rows = 0
    with _new_file(file) as path, _WRITERS[file.suffix](path, schema) as writer:
        for batch in reader:
            writer.write_batch(_text_batch(batch, schema) if is_csv else batch)
            rows += batch.num_rows
    return rows


@contextmanager
def _new_file(file: Path) -> Iterator[str]:
    """Yield the path of a temporary file, which gets its name if the block succeeds."""
    try:
        with NamedTemporaryFile(dir=file.parent, suffix=file.suffix, delete=False) as temporary:
            path = Path(temporary.name)
    except OSError as error:
        raise InvalidInputError(f"Cannot write {file}: {error.strerror}") from error
    try:
        yield str(path)
        path.replace(file)
    finally:
        path.unlink(missing_ok=True)


def _text_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        [
            pa.field(field.name, pa.string() if _has_no_csv(field.type) else field.type)
            for field in schema
        ]
    )


def _text_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array(map(_text, json_values(column)), pa.string())
        if _has_no_csv(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _has_no_csv(kind: pa.DataType) -> bool:
    is_bytes = pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind)
    return bool(is_bytes or pt.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
