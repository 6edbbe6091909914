"""Tasks travel to Spark's workers."""

from __future__ import annotations

import pickle

from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import FileFormat


def test_a_pickled_task_is_the_same_task() -> None:
    task = FileScanTask(
        "file:/t/a.parquet", FileFormat.PARQUET, 1, ("x", None), 10, 99, 3, 4, 50,
        split_offsets=(4,),
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(task)) == task
