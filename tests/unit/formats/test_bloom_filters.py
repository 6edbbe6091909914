"""Bloom filters: which columns get one, how large it is, and that Arrow writes it."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.formats.file_writer import WriterProperties
from iceberg_spark.formats.metrics_modes import metrics_modes
from iceberg_spark.formats.parquet_writer import (
    ParquetFileWriter,
    bloom_filters,
    parquet_layout,
    values_held,
)
from tests.builders import schema

ON = "write.parquet.bloom-filter-enabled.column."
FPP = "write.parquet.bloom-filter-fpp.column."


def test_a_column_has_a_filter_when_its_property_is_true() -> None:
    given = WriterProperties({f"{ON}a": "true", f"{ON}b": "false"})
    assert bloom_filters(given).columns == {"a": 0.01}


def test_delete_files_have_none() -> None:
    assert not bloom_filters(WriterProperties({f"{ON}a": "true"}, deletes=True)).columns


@pytest.mark.parametrize("text", ["0", "1", "many"])
def test_a_probability_is_between_0_and_1(text: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"bloom-filter-fpp\.column\.a"):
        bloom_filters(WriterProperties({f"{ON}a": "true", f"{FPP}a": text}))


def test_a_filter_is_sized_by_rows_up_to_the_most_bytes() -> None:
    filters = bloom_filters(
        WriterProperties({f"{ON}a": "true", "write.parquet.bloom-filter-max-bytes": "1024"})
    )
    held = values_held(1024, 0.01)
    assert 700 < held < 900
    assert filters.of_row_group(10, ["a"]) == {"a": {"ndv": 10, "fpp": 0.01}}
    assert filters.of_row_group(10**6, ["a"])["a"]["ndv"] == held


def test_a_name_that_is_no_leaf_column_gets_none() -> None:
    assert bloom_filters(WriterProperties({f"{ON}a": "true"})).of_row_group(1, ["b"]) == {}


def test_the_file_holds_the_filter_of_the_column_only() -> None:
    columns = schema(("a", "string"), ("b", "long"))
    rows = pa.table({"a": [f"v{n}" for n in range(1000)], "b": list(range(1000))})
    plain, filtered = (_written(columns, rows, given) for given in ({}, {f"{ON}a": "true"}))
    assert len(plain) + 1000 < len(filtered) < len(plain) + 4096
    assert pq.read_table(io.BytesIO(filtered)).column("b").to_pylist() == list(range(1000))


def _written(columns, rows: pa.Table, given: dict[str, str]) -> bytes:
    sink = io.BytesIO()
    sink.close = lambda: None  # type: ignore[method-assign]
    layout = parquet_layout(columns, WriterProperties(given), metrics_modes(columns, {}), {})
    writer = ParquetFileWriter(sink, layout)
    writer.write(rows.cast(layout.target))
    writer.close()
    return sink.getvalue()
