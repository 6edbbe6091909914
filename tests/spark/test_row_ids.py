"""Row ids on Spark: both engines give those that the reader of one process gives."""

from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.spec.reserved import LINEAGE_NAMES
from iceberg_spark.write.lineage import keeping_lineage
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.sorted_files import write_sorted_files
from tests.spark.delete_commits import delete_keys, delete_positions
from tests.spark.native_tables import METADATA_COLUMNS, rows


def numbered(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "k": [f"k{i % 2}" for i in ids]})


def append_with_lineage(table: Table, *lines: tuple[int, int | None, int | None]) -> None:
    """Append rows of (id, row id, number of the last update) that their file holds."""
    ids, row_ids, numbers = (list(column) for column in zip(*lines, strict=True))
    context = keeping_lineage(write_context(table.metadata))
    columns = dict(zip(LINEAGE_NAMES, (row_ids, numbers), strict=True))
    rows = numbered(*ids)
    for name, values in columns.items():
        rows = rows.append_column(name, pa.array(values, pa.int64()))
    files = write_sorted_files(context, table.io, rows.to_batches())
    with table.transaction() as tx:
        tx.overwrite_files(add=files)


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Files of before an upgrade with deletes of both kinds, two of one size, and files since.

    One of these holds row ids itself, with gaps.
    """
    place = str(tmp_path_factory.mktemp("lineage") / "t")
    table = ice.create_table(place, "id bigint, k string")
    for ids in ((1, 2, 3), (4, 5), (6, 7), (8, 9, 10, 11)):
        table.append(numbered(*ids))
    delete_positions(table, [(table.scan("id = 1").plan_files()[0], [1])])
    delete_keys(table.refresh(), [{"id": 9}])
    table.refresh().update_properties().set({"format-version": "3"}).commit()
    table.append(numbered(12, 13))
    append_with_lineage(table, (14, 100, 3), (15, None, 4), (16, 102, None))
    return table.refresh()


def in_process(table: Table, **scan: Any) -> list[tuple[Any, ...]]:
    found = table.scan(**scan).to_arrow()
    return sorted(zip(*(found[name].to_pylist() for name in found.column_names), strict=True))


def lineage_of(table: Table) -> dict[int, tuple[int | None, int | None]]:
    found = in_process(table, selected_fields=("id",), metadata_columns=LINEAGE_NAMES)
    return {number: (row_id, sequence) for number, row_id, sequence in found}


def test_the_table_has_ids_of_each_kind(upgraded: Table) -> None:
    found = lineage_of(upgraded)
    assert set(found) == {1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16}
    assert found[14] == (100, 3)
    assert found[15][1] == 4
    assert found[16] == (102, upgraded.metadata.last_sequence_number)
    assert found[3][0] == (found[1][0] or 0) + 2
    assert len({row_id for row_id, _ in found.values()}) == len(found)


ASKED = (
    ("_row_id",),
    ("_last_updated_sequence_number",),
    LINEAGE_NAMES,
    ("_pos", "_row_id"),
    ("_file", "_row_id"),
    (*METADATA_COLUMNS, *LINEAGE_NAMES),
)


@pytest.mark.parametrize("asked", ASKED, ids="-".join)
def test_both_engines_give_the_ids_that_one_process_reads(
    any_spark: Any, upgraded: Table, asked: tuple[str, ...]
) -> None:
    for row_filter in (None, "id in (3, 8, 10, 13, 14, 15)"):
        scan = upgraded.scan(row_filter, metadata_columns=asked)
        frames = [scan.to_df(any_spark), scan.to_df(any_spark, engine="arrow")]
        assert rows(frames[0]) == rows(frames[1])
        assert frames[0].schema == frames[1].schema
        if "_partition" not in asked:
            expected = in_process(upgraded, row_filter=row_filter, metadata_columns=asked)
            assert sorted(tuple(row) for row in frames[0].collect()) == expected
        last = frames[0].select(asked[-1], "id").where("id > 3").orderBy("id").collect()
        again = frames[1].select(asked[-1], "id").where("id > 3").orderBy("id").collect()
        assert last == again


def test_sparks_own_reader_gives_row_ids(spark: Any, upgraded: Table) -> None:
    scan = upgraded.scan(metadata_columns=LINEAGE_NAMES)
    found = scan.to_df(spark, engine="native").where("_row_id >= 100").select("id", "_row_id")
    assert sorted(tuple(row) for row in found.collect()) == [(14, 100), (16, 102)]


def test_the_plain_source_and_an_enabled_session_give_row_ids(spark: Any, upgraded: Table) -> None:
    def read() -> list[tuple[Any, ...]]:
        reader = spark.read.format("pyiceberg-lite").option("columns", "id")
        frame = reader.option("metadata-columns", ",".join(LINEAGE_NAMES)).load(upgraded.location())
        return sorted(tuple(row) for row in frame.collect())

    expected = in_process(upgraded, selected_fields=("id",), metadata_columns=LINEAGE_NAMES)
    assert read() == expected
    ice.enable(spark)
    try:
        assert read() == expected
    finally:
        ice.disable(spark)
