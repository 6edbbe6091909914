"""Work grows with the number of columns, not with its square."""

import time
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice

COLUMNS, CPU_S = 3_000, 25
"""All of it takes some 3 s; a search through all columns for each column takes minutes."""


@pytest.mark.slow
def test_thousands_of_columns_are_written_deleted_and_read(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(COLUMNS)]
    ddl = ", ".join(f"{name} bigint" for name in names)
    table = ice.create_table(
        str(tmp_path / "t"), ddl, properties={"write.delete.mode": "merge-on-read"}
    )
    given = pa.table({name: pa.array([at, None, 7]) for at, name in enumerate(names)})
    start = time.process_time()
    table.append(given)
    table.delete("c0 = 7")
    table.upsert(given.slice(0, 1), ["c0"])
    assert table.scan().to_arrow().sort_by("c0").equals(given.slice(0, 2).combine_chunks())
    assert time.process_time() - start < CPU_S
