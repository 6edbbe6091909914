"""UPDATE and MERGE on version 3, overtaken by others' deletes of rows of the same files."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import ValidationException

MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}


def test_changes_commit_after_deletes_of_rows_that_they_do_not_read(
    spark: Any, tmp_path: Path
) -> None:
    table = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, v bigint",
        properties={"format-version": "3", **MERGE_ON_READ},
    )
    table.append(pa.table({"id": list(range(12)), "v": [0] * 12}))
    first = lineage(table)

    late = table.refresh().transaction()
    late.update({"v": "1"}, where="id % 3 = 1")
    late.update({"v": "v + 1"}, where="id = 4")
    ice.load_table(table.location()).delete("id in (0, 2)")
    late.commit_transaction()

    late = table.refresh().transaction()
    merge = late.merge(
        spark.createDataFrame([(5, 5), (50, 5)], "id bigint, v bigint"), "t.id = s.id"
    )
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    ice.load_table(table.location()).delete("id = 3")
    late.commit_transaction()

    found = table.refresh().scan().to_arrow().sort_by("id").to_pydict()
    assert found == {"id": [1, *range(4, 12), 50], "v": [1, 2, 5, 0, 1, 0, 0, 1, 0, 5]}
    now = lineage(table)
    assert {key: now[key] for key in first if key in now} == {
        key: row_id for key, row_id in first.items() if key not in (0, 2, 3)
    }
    assert not table.maintenance.check().problems

    late = table.refresh().transaction()
    merge = late.merge(spark.createDataFrame([(60, 6)], "id bigint, v bigint"), "t.id = s.id")
    merge = merge.when_matched_delete("t.v = 0").when_not_matched_insert_all()
    merge.when_not_matched_by_source_delete("t.id = 6").execute()
    ice.load_table(table.location()).delete("id = 7")
    with pytest.raises(ValidationException, match="plan the change again"):
        late.commit_transaction()  # a row that is not there might have been inserted


def lineage(table: Table) -> dict[int, int]:
    found = table.refresh().scan(metadata_columns=["_row_id"]).to_arrow()
    return dict(zip(found["id"].to_pylist(), found["_row_id"].to_pylist(), strict=True))
