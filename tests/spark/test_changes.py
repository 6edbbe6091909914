"""Changes as a Spark frame are those that one process reads."""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

import iceberg_spark as ice


def made(folder: Path, version: str = "2") -> ice.Table:
    """Two appends, a rewrite and deletes in both modes."""
    kind = pa.schema([("id", pa.int64()), ("s", pa.struct([("x", pa.float64())])),
                      ("t", pa.timestamp("us", "UTC"))])  # fmt: skip
    table = ice.create_table(str(folder / "t"), kind, properties={"format-version": version})
    for numbers in ([1, 2, 2], [3, 4]):
        row = [{"id": n, "s": {"x": n / 2}, "t": None} for n in numbers]
        table.append(pa.Table.from_pylist(row, kind))
    table.overwrite(pa.Table.from_pylist([{"id": 1, "s": {"x": 9.0}}], kind), "id = 1")
    table.delete("id = 2")
    table.update_properties().set({"write.delete.mode": "merge-on-read"}).commit()
    table.delete("id = 3")
    return table


def test_spark_returns_the_changes_that_one_process_reads(
    any_spark: SparkSession | ConnectSession, tmp_path: Path
) -> None:
    by_id = {"by": "row-id"}
    older, newer = made(tmp_path), made(tmp_path / "v3", "3")
    for table, options in (
        (older, {}),
        (older, {"net_changes": True}),
        (older, {"identifier_columns": ["id", "s"]}),
        (newer, by_id),
        (newer, {**by_id, "net_changes": True}),
    ):
        scan = table.scan("id < 9", selected_fields=("id", "s.x")).changes(None, None, **options)
        expected = sorted(map(str, scan.to_arrow().to_pylist()))
        frame = scan.to_df(any_spark)
        assert frame.columns == scan.to_arrow().column_names
        assert sorted(str(row.asDict(recursive=True)) for row in frame.collect()) == expected
