"""What travels to every Spark task stays small: the reader once, a scan task for each split."""

import pickle

from iceberg_spark.expr.nodes import And, BoundReference, Comparison, Op
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import DeleteFile, FileScanTask
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import LongType, NestedField

READER_BUDGET = 64 * 1024
TASK_BUDGET = 2 * 1024
LOCATION = "s3://a-bucket-with-a-long-name/warehouse/sales.db/order_lines"
COLUMNS = 300


def column_name(number: int) -> str:
    return f"a_column_with_a_long_name_{number}"


def bound_filter() -> And:
    return And(
        tuple(
            Comparison(Op.GE, BoundReference(i, LongType(), False, column_name(i)), i * 10**12)
            for i in range(1, 6)
        )
    )


def data_path(number: int) -> str:
    name = f"00{number:03}-17-5f8a6c1e-3d1f-4c5e-9f0e-9d2b8b1f7c11-00001.parquet"
    return f"{LOCATION}/data/region=north/day=2024-01-01/{name}"


def test_scan_context_of_a_wide_table_is_below_64_kib():
    columns = [
        NestedField(i, column_name(i), LongType(), required=False) for i in range(1, COLUMNS + 1)
    ]
    specs = {
        i: PartitionSpec(
            i, (PartitionField((i + 1,), 1000 + i, IdentityTransform(), column_name(i + 1)),)
        )
        for i in range(10)
    }
    schema = Schema(*columns)
    context = ScanContext(LOCATION, 1, 2, schema, Schema(*columns), specs, bound_filter())
    assert len(pickle.dumps(context)) < READER_BUDGET


def test_scan_task_with_deletes_and_a_residual_is_below_2_kib():
    deletes = tuple(
        DeleteFile(
            DataFileContent.POSITION_DELETES,
            data_path(100 + i),
            FileFormat.PARQUET,
            file_size_in_bytes=10**6,
            record_count=10**4,
            data_sequence_number=10**3,
            spec_id=1,
            referenced_data_file=data_path(1),
        )
        for i in range(2)
    )
    task = FileScanTask(
        data_path(1),
        FileFormat.PARQUET,
        spec_id=1,
        partition=("north", 19_723, None),
        record_count=10**7,
        file_size_in_bytes=2**29,
        data_sequence_number=10**3,
        start=4,
        length=2**27,
        delete_files=deletes,
        residual=bound_filter(),
        split_offsets=(4, 2**27, 2**28, 3 * 2**27),
    )
    assert len(pickle.dumps(task)) < TASK_BUDGET
