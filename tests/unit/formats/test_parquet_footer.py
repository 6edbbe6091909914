"""A damaged footer is an error; nothing ends the process."""

import contextlib
import io
import os
import random
import resource
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.errors import CorruptFileError, IcebergError, UnsupportedError
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.formats.parquet_footer import read_footer
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import FileFormat

ROWS = 60


def _file() -> bytes:
    numbers = list(range(ROWS))
    table = pa.table({
        "id": pa.array(numbers, pa.int64()),
        "s": [f"x{at}" for at in numbers],
        "f": pa.array([float(at) for at in numbers]),
        "flag": pa.array([at % 2 == 0 for at in numbers]),
        "st": [{"a": at, "b": [1, at]} for at in numbers],
        "m": pa.array([[("a", at)] for at in numbers], pa.map_(pa.string(), pa.int32())),
        "d": pa.array([None] * ROWS, pa.decimal128(9, 2)),
        "ts": pa.array([None] * ROWS, pa.timestamp("us")),
    })  # fmt: skip
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=25)
    return out.getvalue()


def _look_at_everything(data: bytes) -> None:
    """Ask Arrow for all that planning and reading ask it for."""
    source = pa.BufferReader(data)
    footer = read_footer(source, "/f.parquet")
    for group in range(footer.num_row_groups):
        described = footer.row_group(group)
        for column in range(described.num_columns):
            chunk = described.column(column)
            statistics = chunk.statistics
            if statistics is not None and statistics.has_min_max:
                _ = (statistics.min_raw, statistics.max_raw)
    file = pq.ParquetFile(source, metadata=footer, pre_buffer=True)
    for batch in file.iter_batches(1000, use_threads=False):
        batch.validate(full=True)


def _in_a_child(inputs: list[bytes]) -> int:
    """Return how many inputs a child process looked at before something ended it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as answers:
            return len(answers.read())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # C++ says on its way out why it ends
    try:
        for data in inputs:
            with contextlib.suppress(IcebergError, pa.ArrowException, OSError, UnicodeDecodeError):
                _look_at_everything(data)
            os.write(writer, b".")
    finally:
        os._exit(0)


def _footer_start(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def test_no_flipped_bit_of_a_footer_ends_the_process():
    """The first ones of a seeded order; `make fuzz` goes on."""
    data = _file()
    start = _footer_start(data)
    chance = random.Random(20)
    inputs = []
    for _ in range(150):
        changed = bytearray(data)
        changed[chance.randrange(start, len(data) - 8)] ^= 1 << chance.randrange(8)
        inputs.append(bytes(changed))
    assert _in_a_child(inputs) == len(inputs)


def test_every_bit_of_a_columns_type_is_compared_with_the_schema():
    """The bytes that ended the process: a column's type and the number of its levels."""
    data = _file()
    footer = data[_footer_start(data) : -8]
    at = footer.index(b"\x15\x0c\x19", footer.index(b"\x19\x1c"))  # type 6, then encodings
    changed = footer[:at] + b"\x15\x02\x19" + footer[at + 3 :]
    broken = data[: _footer_start(data)] + changed + data[-8:]
    with pytest.raises(CorruptFileError, match=r"/f\.parquet .*of type 1, in the schema of 6"):
        read_footer(pa.BufferReader(broken), "/f.parquet")


def test_a_sound_footer_is_what_arrow_reads():
    data = _file()
    assert read_footer(pa.BufferReader(data), "/f").equals(pq.read_metadata(io.BytesIO(data)))


def test_a_footer_longer_than_the_first_read_is_read_whole():
    table = pa.table({f"c{at}": [at] for at in range(1_000)})
    out = io.BytesIO()
    pq.write_table(table, out)
    found = read_footer(pa.BufferReader(out.getvalue()), "/f")
    assert (found.num_columns, found.num_rows) == (1_000, 1)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"", CorruptFileError, "truncated"),
        (b"PAR1PAR1", CorruptFileError, "truncated"),
        (b"PAR1" + b"\xff" * 8 + b"PAR1", CorruptFileError, "does not fit"),
        (b"PAR1" + b"\x00" * 4 + b"PAR1", CorruptFileError, "damaged Parquet footer"),
        (b"PAR1" + b"\x1c" * 90 + b"\x5a\x00\x00\x00PAR1", CorruptFileError, "too deeply"),
        (b"PAR1" + b"\x00" * 8 + b"PARE", UnsupportedError, "encrypted"),
    ],
    ids=["empty", "magic only", "long", "no footer", "deep", "encrypted"],
)
def test_what_is_no_footer_is_an_error_that_names_the_file(
    tmp_path: Path, data: bytes, error: type[IcebergError], message: str
):
    path = tmp_path / "f.parquet"
    path.write_bytes(data)
    opened = open_data_file(FsspecIO(), str(path), FileFormat.PARQUET)
    with pytest.raises(error, match=rf"f\.parquet.*{message}"), opened:
        pass
