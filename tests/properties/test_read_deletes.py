"""Any deletes and filter over any rows, against the rules written out row by row."""

import math
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.spec import reserved
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.schema import Schema
from tests.builders import field, schema
from tests.unit.read.files import context, equality_deletes, position_deletes, read, task, write

ROW_NUMBER = field(1, "n", "long")
KEYS = (field(2, "i", "int"), field(3, "s", "string"), field(4, "d", "double"))
TABLE = schema(ROW_NUMBER, *KEYS)
FORMATS = [FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO]

keys = st.fixed_dictionaries(
    {
        "i": st.sampled_from([None, 0, 1, 2, -(2**31)]),
        "s": st.sampled_from([None, "", "a", "A", "é"]),
        "d": st.sampled_from([None, 0.0, -0.0, 1.5, math.nan, math.inf]),
    }
)
key_sets = st.lists(
    st.tuples(
        st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique_by=lambda key: key.name),
        st.lists(keys, max_size=4),
    ),
    max_size=3,
)
FILTERS = {
    None: lambda _row: True,
    "i > 0": lambda row: row["i"] is not None and row["i"] > 0,
    "s = 'a' OR i IS NULL": lambda row: row["s"] == "a" or row["i"] is None,
}


def bits(value: Any) -> Any:
    """A value such that equal keys are equal: NaN equals NaN, -0.0 differs from 0.0."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


def is_deleted(row: dict, position: int, positions: set[int], sets: list) -> bool:
    return position in positions or any(
        all(bits(row[key.name]) == bits(gone[key.name]) for key in columns)
        for columns, rows in sets
        for gone in rows
    )


@pytest.mark.parametrize("file_format", FORMATS)
@settings(max_examples=40)
@given(
    rows=st.lists(keys, min_size=1, max_size=40),
    positions=st.sets(st.integers(0, 45), max_size=12),
    sets=key_sets,
    text=st.sampled_from(list(FILTERS)),
    batch_rows=st.integers(1, 50),
    capacity=st.sampled_from([0, 300, 10**8]),
)
def test_live_rows_are_those_that_no_delete_names(
    file_format, rows, positions, sets, text, batch_rows, capacity
):
    numbered = [{"n": n, **row} for n, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        options = {"row_group_size": 7} if file_format is FileFormat.PARQUET else {}
        data = write(Path(folder) / "data", TABLE, numbered, file_format, **options)
        deletes = [
            equality_deletes(
                Path(folder) / f"e{number}",
                schema(*columns),
                [{key.name: row[key.name] for key in columns} for row in gone],
                file_format=file_format,
            )
            for number, (columns, gone) in enumerate(sets)
        ]
        if positions:
            pairs = [(data, position) for position in positions]
            deletes.append(position_deletes(Path(folder) / "p", pairs, file_format=file_format))
        residual = ALWAYS_TRUE if text is None else bind(TABLE, parse_predicate(text))
        one = task(data, file_format, delete_files=tuple(deletes), residual=residual)
        scan = context(TABLE, schema(ROW_NUMBER), batch_rows=batch_rows)
        live = read(scan, one, BoundedCache(capacity)).column("n").to_pylist()
        marked = context(
            TABLE, Schema(ROW_NUMBER, reserved.DELETED, reserved.POS), batch_rows=batch_rows
        )
        shown = read(marked, one, BoundedCache(capacity)).to_pylist()
    matching = [row for row in numbered if FILTERS[text](row)]
    doomed = {row["n"] for row in numbered if is_deleted(row, row["n"], positions, sets)}
    assert live == [row["n"] for row in matching if row["n"] not in doomed]
    assert shown == [
        {"n": row["n"], "_deleted": row["n"] in doomed, "_pos": row["n"]} for row in matching
    ]
