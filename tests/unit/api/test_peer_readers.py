"""The contenders of the benchmark without Spark read the same rows."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from benchmarks.plain_python_client import QUERIES, READERS


@pytest.mark.parametrize("query", ["3 columns", "v = 7, scattered", "id < 100000, clustered"])
def test_contenders_read_the_same_rows(tmp_path: Path, query: str) -> None:
    kinds = "id bigint, price double, name string, v int"
    table = ice.create_table(str(tmp_path / "t"), kinds)
    for first in (0, 99_990):
        ids = list(range(first, first + 20))
        columns = {"id": ids, "price": [1.5] * 20, "name": ["n"] * 20}
        table.append(pa.table({**columns, "v": pa.array([n % 10 for n in ids], pa.int32())}))
    metadata = table.metadata_location
    files = [task.file_path for task in table.scan().plan_files()]
    Path(metadata).with_name("files.json").write_text(json.dumps(files))
    rows = {
        name: sorted(READERS[name](QUERIES[query], metadata)["id"].to_pylist())
        for name in ("pyarrow", "ours", "pyiceberg", "duckdb")
    }
    assert rows["ours"]
    assert all(ids == rows["ours"] for ids in rows.values())
