"""Values that the source left out of an update: the table's stay, in any order of changes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from tests.left_out_model import (
    COLUMNS,
    Event,
    expected_rows,
    random_feed,
    rows_of,
    shuffled_batches,
)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shuffles", [False, True])
def test_each_column_has_the_value_of_its_latest_change(
    tmp_path: Path, seed: int, shuffles: bool
) -> None:
    """Values that are not there yet are refused, and the batch comes again with the next."""
    rng = random.Random(seed)
    sequence = rng.choice(["seq", "__seq"])
    columns = "id bigint, a string, b string, c string" + (
        ", seq bigint" if sequence == "seq" else ""
    )
    properties = {"format-version": rng.choice(["2", "3"])}
    if rng.random() < 0.5:
        properties["write.merge.mode"] = "merge-on-read"
    table = ice.create_table(str(tmp_path / "t"), columns, properties=properties)
    feed = random_feed(rng)
    waiting: list[Event] = []
    for batch in shuffled_batches(feed, rng, shuffles):
        waiting += batch
        try:
            table.apply_changes(
                rows_of(waiting, sequence),
                keys=["id"],
                sequence_by=sequence,
                apply_as_deletes="__deleted",
            )
        except InvalidInputError as error:
            if not shuffles or "leaves out its value" not in str(error):
                raise
        else:
            waiting = []
    assert not waiting
    rows = table.scan().to_arrow().select(["id", *COLUMNS]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == expected_rows(feed)


def table_with_a_row(path: Path, columns: str = "id bigint, a string") -> ice.Table:
    table = ice.create_table(str(path / "t"), columns)
    apply(table, ROW)
    return table


def apply(table: ice.Table, *rows: dict[str, Any], **options: Any) -> None:
    data = pa.Table.from_pylist(list(rows), pa.schema([
        ("id", pa.int64()), ("a", pa.string()), ("__seq", pa.int64()),
        ("__unavailable", pa.list_(pa.string())),
    ]))  # fmt: skip
    table.apply_changes(data, keys=["id"], sequence_by="__seq", **options)


ROW = {"id": 1, "a": "x", "__seq": 1, "__unavailable": None}


def test_a_required_column_keeps_its_value(tmp_path: Path) -> None:
    table = table_with_a_row(tmp_path, "id bigint, a string not null")
    apply(table, {"id": 1, "a": None, "__seq": 2, "__unavailable": ["a"]})
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "a": "x"}]


def test_a_row_that_others_wrote_keeps_its_value(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, a string")
    table.append(pa.table({"id": [1], "a": ["x"]}))
    apply(table, {"id": 1, "a": None, "__seq": 2, "__unavailable": ["a"]})
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "a": "x"}]


def test_a_value_that_nobody_has_is_refused_by_column_and_key(tmp_path: Path) -> None:
    table = table_with_a_row(tmp_path)
    with pytest.raises(InvalidInputError, match=r"Column 'a': .* \{'id': 2\} .* sequence 3"):
        apply(table, {"id": 2, "a": None, "__seq": 3, "__unavailable": ["a"]})


def test_a_history_refuses_changes_without_values(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, a string")
    with pytest.raises(InvalidInputError, match=r"Column 'a': .* history"):
        apply(
            table,
            {"id": 1, "a": None, "__seq": 2, "__unavailable": ["a"]},
            stored_as_scd_type=2,
        )
