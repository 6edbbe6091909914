"""ORC timestamps outside 1677 to 2262: each codec, encoding and nesting."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as po
import pytest

from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.formats.orc_timestamps import timestamp_reader, unsigned_integers
from iceberg_spark.spec.data_file import FileFormat
from tests.builders import field, schema
from tests.unit.formats.reading import IO, read_file

YEAR_1, YEAR_9999 = -62_135_596_800_000_000, 253_402_300_799_999_999


def micros(count: int, seed: int) -> list[int | None]:
    """Timestamps with and without fractions, of all years and around 1970, and nulls."""
    chance = random.Random(seed)
    values: list[int | None] = [YEAR_1, YEAR_9999, -1, 0, 1]
    for _ in range(count):
        far = chance.randrange(YEAR_1, YEAR_9999)
        near = chance.randrange(-3_000_000, 3_000_000)
        values.append(chance.choice([None, far, far // 1000 * 1000, far // 10**6 * 10**6, near]))
    return values


def table_of(values: list[int | None]) -> pa.Table:
    time, instant = pa.timestamp("us"), pa.timestamp("us", "UTC")
    steady = [1234 + 1000 * n for n in range(len(values))]
    struct = pa.struct([("x", time), ("y", pa.int32())])
    structs = [None if n % 3 == 0 else {"x": v, "y": n} for n, v in enumerate(values)]
    lists = [None if n % 5 == 0 else [v, None, v] for n, v in enumerate(values)]
    return pa.table(
        {
            "id": pa.array(range(len(values)), pa.int64()),
            "t": pa.array(values, time),
            "z": pa.array(values[::-1], instant),
            "steady": pa.array(steady, time),
            "s": pa.array(structs, struct),
            "l": pa.array(lists, pa.list_(time)),
            "m": pa.array([[("k", v)] for v in values], pa.map_(pa.string(), instant)),
        }
    )


def read(path: Path, columns: list[str]) -> pa.Table:
    with open_data_file(IO, str(path), FileFormat.ORC) as file:
        fields = file_fields(file.schema)
        leaves = frozenset(n for one in fields if one.name in columns for n in one.leaves)
        parts = [part.rows for part in file.batches(ReadRequest(fields, leaves))]
        for part in parts:
            part.validate(full=True)
        return pa.concat_tables([pa.Table.from_batches([part]) for part in parts])


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("count", [0, 2_000])
def test_timestamps_of_all_years_are_read_at_any_depth(
    tmp_path: Path, codec: str, count: int
) -> None:
    rows, path = table_of(micros(count, seed=7)), tmp_path / "f.orc"
    po.write_table(rows, str(path), compression=codec, compression_block_size=65_536)
    assert read(path, rows.column_names).to_pylist() == rows.to_pylist()
    assert read(path, ["s", "z"]).to_pylist() == rows.select(["z", "s"]).to_pylist()


def test_timestamps_that_arrow_holds_are_read_alike_by_both_readers(tmp_path: Path) -> None:
    values = [v for v in micros(3_000, seed=8) if v is None or abs(v) < 9 * 10**15]
    rows, path = table_of(values), tmp_path / "f.orc"
    po.write_table(rows, str(path))
    with pa.OSFile(str(path)) as source:
        file = po.ORCFile(source)
        reader = timestamp_reader(source, file)
        found = reader.read(0, None, rows.column_names)
        assert found.to_pylist() == file.read().cast(rows.schema).to_pylist() == rows.to_pylist()


def test_all_stripes_of_a_file_are_read_also_those_that_arrow_holds(tmp_path: Path) -> None:
    path = tmp_path / "f.orc"
    time = pa.timestamp("us")
    near = pa.table({"t": pa.array(range(200_000), time)})
    with po.ORCWriter(str(path), stripe_size=1, compression="zstd", batch_size=10_000) as writer:
        writer.write(near)
        writer.write(pa.table({"t": pa.array([YEAR_9999], time)}))
    found = read_file(path, FileFormat.ORC, schema(field(1, "t", "timestamp")), by_name=True)
    assert found["t"].cast(pa.int64()).to_pylist() == [*range(200_000), YEAR_9999]


def test_a_stream_that_ends_inside_a_run_is_malformed() -> None:
    with pytest.raises(ValueError, match="ends inside"):
        unsigned_integers(b"\x02", 5, version=2)


@pytest.mark.parametrize(
    ("encoded", "version", "expected"),
    [
        (bytes((0x61, 0xFF, 0x64)), 1, list(range(100, 0, -1))),
        (bytes((0xFB, 0x02, 0x03, 0x04, 0x07, 0xB)), 1, [2, 3, 4, 7, 11]),
        (bytes((0x0A, 0x27, 0x10)), 2, [10_000] * 5),
        (bytes((0x5E, 0x03, 0x5C, 0xA1, 0xAB, 0x1E, 0xDE, 0xAD, 0xBE, 0xEF)), 2,
         [23713, 43806, 57005, 48879]),
        (bytes((0x8E, 0x09, 0x2B, 0x21, 0x07, 0xD0, 0x1E, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3C, 0x46,
                0x50, 0x5A, 0xFC, 0xE8)), 2,
         [2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090]),
        (bytes((0xC6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46)), 2,
         [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]),
    ],
    ids=["v1 run", "v1 literals", "short repeat", "direct", "patched base", "delta"],
)  # fmt: skip
def test_the_specifications_examples_of_integers(
    encoded: bytes, version: int, expected: list[int]
) -> None:
    found = unsigned_integers(encoded, len(expected), version=version)
    assert found.dtype == np.int64
    assert found.tolist() == expected
