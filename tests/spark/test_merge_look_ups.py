"""A MERGE with few keys opens only the files of which Bloom filters do not exclude them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.row_level import target_files
from tests.spark.test_delete_update import both_modes

FILES, ROWS = 12, 50
BLOOM = {"write.parquet.bloom-filter-enabled.column.id": "true"}


def scattered(folder: Path, mode: str, **properties: str) -> Any:
    """A table of files with the same range of ids: file n has n, n + 12, n + 24, ..."""
    table = ice.create_table(
        str(folder / "t"),
        "id bigint, k string, v int",
        properties={"write.merge.mode": mode, **properties},
    )
    with table.transaction() as tx:
        for first in range(FILES):
            numbers = list(range(first, FILES * ROWS, FILES))
            columns = {"id": numbers, "k": [str(number) for number in numbers]}
            tx.append(pa.table({**columns, "v": pa.array(numbers, pa.int32())}))
    return ice.load_table(table.location())


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of files of each plan, before files without the values are left out and after."""
    counts: list[int] = []
    look = target_files._with_values

    def spy(plan: Any, *args: Any) -> Any:
        rest = look(plan, *args)
        counts.extend((len(plan), len(rest)))
        return rest

    monkeypatch.setattr(target_files, "_with_values", spy)
    return counts


@both_modes
@pytest.mark.parametrize("on", ["t.id = s.id", "t.id <=> s.id", "t.id = s.id AND t.k = s.k"])
def test_a_merge_opens_the_files_of_its_keys(
    any_spark: Any, tmp_path: Path, mode: str, on: str, planned: list[int]
) -> None:
    table = scattered(tmp_path, mode, **BLOOM)
    keys = any_spark.createDataFrame([(17, "17", -1), (1000, "n", -2)], "id int, k string, v int")
    merge = table.merge(keys, on).when_matched_update_all().when_not_matched_insert_all()
    done = merge.execute()
    assert (done.inserted, done.updated) == (1, 1)
    assert planned[0] == FILES and planned[1] in (1, 2)
    values = dict(table.refresh().scan().to_arrow().select(["id", "v"]).to_pandas().values)
    assert values == {n: n for n in range(FILES * ROWS)} | {17: -1, 1000: -2}


@both_modes
def test_a_merge_with_nulls_that_match_opens_all_files(
    spark: Any, tmp_path: Path, mode: str, planned: list[int]
) -> None:
    table = scattered(tmp_path, mode, **BLOOM)
    table.append(
        pa.table({"id": pa.array([None], pa.int64()), "k": ["x"], "v": pa.array([0], pa.int32())})
    )
    keys = spark.createDataFrame([(17, -1), (None, -2)], "id bigint, v int")
    done = table.merge(keys, "t.id <=> s.id").when_matched_update({"v": "s.v"}).execute()
    assert done.updated == 2
    assert planned == [FILES + 1, FILES + 1]


@pytest.mark.parametrize(
    ("source", "properties"),
    [
        ("SELECT CAST(17 AS DOUBLE) id", BLOOM),
        ("SELECT '17' id", BLOOM),
        ("SELECT id FROM RANGE(200)", BLOOM),
        ("SELECT CAST(17 AS BIGINT) id", {}),
    ],
)
def test_other_types_many_keys_and_other_tables_are_not_looked_up(
    spark: Any, tmp_path: Path, planned: list[int], source: str, properties: dict[str, str]
) -> None:
    table = scattered(tmp_path, "merge-on-read", **properties)
    done = table.merge(spark.sql(source), "t.id = s.id").when_matched_delete().execute()
    assert done.deleted in (1, 200)
    assert planned[0] == planned[1]


def test_filters_of_sparks_writer_are_as_large_as_their_rows_need(
    spark: Any, tmp_path: Path, planned: list[int]
) -> None:
    kinds, share = "id bigint, k string, v int", "write.parquet.bloom-filter-fpp.column.id"
    table: Any = ice.create_table(str(tmp_path / "t"), kinds, properties={**BLOOM, share: "0.001"})
    for first in range(3):
        rows = spark.range(first, 30_000, 3).selectExpr("id", "'k' k", "CAST(id AS INT) v")
        table.append(rows.coalesce(1))
    done = table.merge(spark.sql("SELECT 17L id"), "t.id = s.id").when_matched_delete().execute()
    assert done.deleted == 1
    assert planned == [3, 1]
