"""Rows that match are found by the columns of the filter; the others are read only there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.formats import parquet_reader
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.limits import READING
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.spec import reserved
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.schema import Schema
from tests.builders import field, schema
from tests.unit.read.files import (
    IO,
    context,
    equality_deletes,
    position_deletes,
    read,
    task,
    write,
)

TABLE = schema(field(1, "id", "long"), field(2, "s", "string"), field(3, "x", "double"))
KEYS = schema(field(1, "id", "long"))
GROUP, GROUPS = 5_000, 4


class CountingFile:
    """A local file that counts the bytes that are read."""

    def __init__(self, path: str, counts: list[int]) -> None:
        self._file = Path(path).open("rb")  # noqa: SIM115 (Arrow closes it)
        self._counts = counts

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._counts.append(len(data))
        return data


class CountingIO(FsspecIO):
    """Storage that counts the bytes that Arrow reads."""

    def __init__(self, counts: list[int]) -> None:
        super().__init__()
        self.counts = counts

    def open_arrow(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(CountingFile(path, self.counts), mode="r")


def rows(texts: int = 200) -> list[dict[str, object]]:
    """Rows of four groups; 77 is in the third only, and within the bounds of each."""
    random = np.random.default_rng(0)
    ids = [number if number != 77 else 78 for number in random.integers(0, 1_000, GROUP * GROUPS)]
    for number in range(GROUPS):
        ids[number * GROUP], ids[number * GROUP + 1] = 0, 999
    ids[2 * GROUP + 10] = ids[2 * GROUP + 20] = 77
    return [
        {"id": int(number), "s": random.bytes(texts // 2).hex(), "x": float(place)}
        for place, number in enumerate(ids)
    ]


@pytest.fixture
def always_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read columns of filters first in files of any size."""
    monkeypatch.setattr(
        parquet_reader, "READING", replace(READING, others_bytes=-1, others_share=0)
    )


def test_row_groups_without_a_match_are_not_fetched(tmp_path: Path) -> None:
    written = rows()
    path = write(tmp_path / "f", TABLE, written, row_group_size=GROUP)
    counts: list[int] = []
    scan = context(TABLE, Schema(*TABLE.fields, reserved.POS))
    residual = bind(TABLE, parse_predicate("id = 77"))
    batches = read_task(scan, CountingIO(counts), task(path, residual=residual))
    found = pa.Table.from_batches(batches)
    assert found.column("_pos").to_pylist() == [2 * GROUP + 10, 2 * GROUP + 20]
    assert found.column("s").to_pylist() == [
        written[2 * GROUP + 10]["s"],
        written[2 * GROUP + 20]["s"],
    ]
    assert sum(counts) < 0.4 * IO.size(path)


def test_a_reader_stops_after_the_last_row_that_is_needed(tmp_path: Path) -> None:
    path = write(tmp_path / "f", TABLE, rows(2), row_group_size=GROUP)
    with open_data_file(IO, path, FileFormat.PARQUET) as file:
        fields = file_fields(file.schema)
        request = ReadRequest(fields, frozenset((0, 1, 2)), batch_rows=1_000)
        windows = ((500, 600), (GROUP + 2_500, GROUP + 2_600))
        read_rows = [
            (batch.first_row, batch.rows.num_rows)
            for batch in file.batches(replace(request, windows=windows))
        ]
        assert read_rows == [(0, 1_000), (GROUP + 2_000, 1_000)]
        assert list(file.batches(replace(request, windows=()))) == []


FILTERS = ["id = 77", "id < 10", "id IS NULL", "id = 77 OR x < 3.0", "id > -1", "s = 'no'"]


@pytest.mark.usefixtures("always_first")
@pytest.mark.parametrize("text", FILTERS)
@pytest.mark.parametrize("deletes", ["none", "positions", "keys"])
@pytest.mark.parametrize("shown", [True, False])
def test_rows_are_those_of_one_pass(
    text: str, deletes: str, shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "f", TABLE, rows(2), row_group_size=GROUP)
    files = {
        "none": (),
        "positions": (position_deletes(tmp_path / "p", [(path, 1), (path, 2 * GROUP + 10)]),),
        "keys": (equality_deletes(tmp_path / "e", KEYS, [{"id": 78}, {"id": 5}]),),
    }[deletes]
    extra = (reserved.POS, reserved.DELETED) if shown else ()
    scan = context(TABLE, Schema(*TABLE.fields, *extra), batch_rows=700)
    one = task(path, residual=bind(TABLE, parse_predicate(text)), delete_files=files)
    found = read(scan, one)
    monkeypatch.setattr(parquet_reader, "READING", replace(READING, others_bytes=2**62))
    assert found.equals(read(scan, one))
    assert found.num_rows or text in ("id IS NULL", "s = 'no'")


@pytest.mark.usefixtures("always_first")
def test_splits_of_a_file_find_their_own_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "f", TABLE, rows(2), row_group_size=GROUP)
    size = IO.size(path)
    residual = bind(TABLE, parse_predicate("id < 100"))
    whole = read(context(TABLE), task(path, residual=residual))
    parts = [
        read(context(TABLE), task(path, residual=residual, start=start, length=size // 3 + 1))
        for start in range(0, size, size // 3 + 1)
    ]
    assert pa.concat_tables(parts).equals(whole)
    assert sum(part.num_rows > 0 for part in parts) > 1
