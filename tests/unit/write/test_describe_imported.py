"""Files that lie somewhere already: metrics from footers, partitions from paths, refusals."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import mmh3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchFileError,
)
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import DataFile, FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    TruncateTransform,
)
from iceberg_spark.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)
from iceberg_spark.write.describe_imported import imported_data_file
from iceberg_spark.write.hive_paths import partition_value
from iceberg_spark.write.import_folder import import_folder

IO = FsspecIO({})
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "s", StringType()),
    NestedField(3, "d", DoubleType()),
    NestedField(4, "ts", TimestamptzType()),
    NestedField(5, "st", StructType(NestedField(6, "x", DecimalType(9, 2)))),
    NestedField(7, "day", DateType()),
)


def table(
    *fields: PartitionField, schema: Schema = SCHEMA, properties: dict | None = None
) -> TableMetadata:
    made = new_metadata(
        schema, PartitionSpec(0, fields) if fields else UNPARTITIONED, location="/t", now_ms=1
    )
    # Keep the ids given here.
    spec = PartitionSpec(0, fields)
    return replace(
        made, schemas={0: schema}, current_schema_id=0, partition_specs={0: spec},
        default_spec_id=0, properties=properties or {},
    )  # fmt: skip


def by(source: int, name: str, transform=None) -> PartitionField:
    return PartitionField((source,), 1000 + source, transform or IdentityTransform(), name)


def put(path: Path, columns: dict, **options) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return str(path)


def entry(path: str, metadata: TableMetadata, partition: tuple | None = None) -> DataFile:
    return imported_data_file(IO, path, metadata, metadata.spec, partition)


def test_counts_and_bounds_come_from_the_footer(tmp_path: Path) -> None:
    columns = {
        "id": pa.array([3, 1, None, 2], pa.int32()),
        "s": ["b" * 40, "a", None, None],
        "st": [{"x": Decimal("1.50")}, None, {"x": None}, {"x": Decimal("-2.25")}],
    }
    kinds = {"st": pa.struct([("x", pa.decimal128(9, 2))])}
    columns["st"] = pa.array(columns["st"], kinds["st"])
    path = put(tmp_path / "f.parquet", columns, row_group_size=2)
    file = entry(path, table())
    assert (file.record_count, file.file_format) == (4, FileFormat.PARQUET)
    assert file.file_size_in_bytes == Path(path).stat().st_size
    assert file.value_counts == {1: 4, 2: 4, 6: 4}
    assert file.null_value_counts == {1: 1, 2: 2, 6: 2}
    assert file.lower_bounds == {1: struct.pack("<q", 1), 2: b"a", 6: b"\xff\x1f"}
    assert file.upper_bounds == {1: struct.pack("<q", 3), 2: b"b" * 15 + b"c", 6: b"\x00\x96"}
    assert file.nan_value_counts == {}
    assert len(file.split_offsets) == 2
    assert file.column_sizes.keys() == {1, 2, 6}


def test_int96_has_counts_and_no_bounds(tmp_path: Path) -> None:
    when = pa.array([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    path = put(tmp_path / "f.parquet", {"ts": when}, use_deprecated_int96_timestamps=True)
    file = entry(path, table())
    assert file.value_counts == {4: 1}
    assert file.lower_bounds == file.upper_bounds == {}


def test_zero_bounds_hold_for_both_zeros_and_nan_for_none(tmp_path: Path) -> None:
    file = entry(put(tmp_path / "f.parquet", {"d": [0.0, math.nan]}), table())
    assert file.lower_bounds == {3: struct.pack("<d", -0.0)}
    assert file.upper_bounds == {3: struct.pack("<d", 0.0)}
    file = entry(put(tmp_path / "g.parquet", {"d": [math.nan, math.nan]}), table())
    assert file.lower_bounds == {}


def test_without_statistics_there_are_no_bounds(tmp_path: Path) -> None:
    file = entry(put(tmp_path / "f.parquet", {"id": [1]}, write_statistics=False), table())
    assert file.value_counts == {1: 1}
    assert file.null_value_counts == file.lower_bounds == {}


def test_metrics_modes_of_the_table_hold(tmp_path: Path) -> None:
    metadata = table(properties={"write.metadata.metrics.default": "counts"})
    file = entry(put(tmp_path / "f.parquet", {"id": [1]}), metadata)
    assert (file.value_counts, file.lower_bounds) == ({1: 1}, {})


def test_the_name_mapping_gives_ids_to_files_without_them(tmp_path: Path) -> None:
    mapping = '[{"field-id": 1, "names": ["id", "old_id"]}]'
    metadata = table(properties={"schema.name-mapping.default": mapping})
    file = entry(put(tmp_path / "f.parquet", {"old_id": [1]}), metadata)
    assert file.value_counts == {1: 1}


def test_ids_of_the_file_win_over_names(tmp_path: Path) -> None:
    renamed = pa.field("other", pa.int64(), metadata={"PARQUET:field_id": "1"})
    path = str(tmp_path / "f.parquet")
    pq.write_table(pa.table([pa.array([5])], pa.schema([renamed])), path)
    assert entry(path, table()).lower_bounds == {1: struct.pack("<q", 5)}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": ["x"]}, "'id'.*string"),
        ({"d": [1]}, "'d'.*int64"),
        ({"nobody": [1]}, "'nobody'"),
        ({"st": [{"z": 1}]}, "'st.z'"),
        ({"st": [1]}, "'st' is struct"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_column(
    tmp_path: Path, columns: dict, message: str
) -> None:
    path = put(tmp_path / "f.parquet", columns)
    with pytest.raises(InvalidSchemaError, match=message) as refused:
        entry(path, table())
    assert path in str(refused.value)


def test_a_file_without_a_required_column_is_refused(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "id", LongType(), required=True), *SCHEMA.fields[1:])
    with pytest.raises(InvalidSchemaError, match="lacks column 'id'"):
        entry(put(tmp_path / "f.parquet", {"s": ["a"]}), table(schema=schema))


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFileError, match="gone"):
        entry(str(tmp_path / "gone.parquet"), table())
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 nothing")
    with pytest.raises(CorruptFileError, match="broken"):
        entry(str(broken), table())


def test_a_partition_is_found_in_the_statistics(tmp_path: Path) -> None:
    noon = datetime(2024, 1, 2, 12, tzinfo=UTC)
    columns = {
        "s": ["abc", "abd"],
        "id": [7, 7],
        "ts": pa.array([noon, noon], pa.timestamp("us", "UTC")),
    }
    metadata = table(
        by(2, "s_trunc", TruncateTransform(2)), by(1, "id"), by(4, "ts_day", DayTransform()),
        by(1, "b", BucketTransform(4)), by(3, "nothing"),
    )  # fmt: skip
    columns["d"] = pa.nulls(2, pa.float64())
    file = entry(put(tmp_path / "f.parquet", columns), metadata)
    bucket = (mmh3.hash((7).to_bytes(8, "little")) & 0x7FFFFFFF) % 4
    assert file.partition == ("ab", 7, 19724, bucket, None)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (by(1, "id"), [1, 2]),
        (by(1, "id"), [1, None]),
        (by(1, "b", BucketTransform(4)), [1, 2]),
    ],
)
def test_rows_of_several_partitions_are_refused(tmp_path: Path, field, values) -> None:
    path = put(tmp_path / "f.parquet", {"id": values})
    with pytest.raises(InvalidInputError, match=rf"f.parquet.*'{field.name}'"):
        entry(path, table(field))


def test_extremes_of_one_bucket_tell_nothing_of_the_rows_between(tmp_path: Path) -> None:
    buckets = [(mmh3.hash(n.to_bytes(8, "little")) & 0x7FFFFFFF) % 4 for n in range(20)]
    between = next(n for n in range(1, 20) if buckets[n] != buckets[0])
    last = next(n for n in range(between, 20) if buckets[n] == buckets[0])
    path = put(tmp_path / "f.parquet", {"id": [0, between, last]})
    with pytest.raises(InvalidInputError, match="its statistics don't determine"):
        entry(path, table(by(1, "b", BucketTransform(4))))


def test_a_partition_that_nothing_tells_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "f.parquet", {"s": ["a"]})
    with pytest.raises(InvalidInputError, match="'id'"):
        entry(path, table(by(1, "id")))


def test_a_given_value_that_the_column_contradicts_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "f.parquet", {"id": [1, 1], "s": ["a", "b"]})
    metadata = table(by(1, "id"))
    assert entry(path, metadata, (1,)).partition == (1,)
    for given in (2, None):
        with pytest.raises(InvalidInputError, match="'id' has other values"):
            entry(path, metadata, (given,))


def test_hive_folders_give_typed_values(tmp_path: Path) -> None:
    root = tmp_path / "t"
    put(root / "day=2024-01-02" / "s=a%2Fb c" / "f.parquet", {"id": [1]})
    put(root / "day=__HIVE_DEFAULT_PARTITION__" / "s=x" / "g.parquet", {"id": [2]})
    (root / "_SUCCESS").write_text("")
    put(root / "_delta" / "h.parquet", {"id": [3]})
    put(root / "day=2024-01-02" / "s=x" / ".hidden.parquet", {"id": [4]})
    files = import_folder(IO, str(root), table(by(7, "day"), by(2, "s")))
    assert [file.partition for file in files] == [(19724, "a/b c"), (None, "x")]
    assert [file.record_count for file in files] == [1, 1]


def test_a_flat_folder_is_read_from_statistics_or_needs_no_partition(tmp_path: Path) -> None:
    put(tmp_path / "t" / "f.parquet", {"id": [1]})
    (file,) = import_folder(IO, str(tmp_path / "t"), table())
    assert file.partition == ()
    (file,) = import_folder(IO, str(tmp_path / "t"), table(by(1, "id")))
    assert file.partition == (1,)


@pytest.mark.parametrize(
    ("folder", "fields", "message"),
    [
        ("id=x", [by(1, "id")], "id=x is not a value of type long"),
        ("q=1", [by(1, "id")], "name q, the table is partitioned by id"),
        ("id=1", [by(1, "id"), by(2, "s")], "partitioned by id, s"),
        ("id_b=1", [by(1, "id_b", BucketTransform(4))], "only identity"),
    ],
)
def test_folders_that_are_no_partition_are_refused(
    tmp_path: Path, folder: str, fields: list, message: str
) -> None:
    put(tmp_path / "t" / folder / "f.parquet", {"d": [1.0]})
    with pytest.raises(InvalidInputError, match=message):
        import_folder(IO, str(tmp_path / "t"), table(*fields))


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="No Parquet file"):
        import_folder(IO, str(tmp_path), table())


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (BooleanType(), "true", True),
        (IntegerType(), "-5", -5),
        (DecimalType(9, 2), "1.5", Decimal("1.50")),
        (DateType(), "1969-12-31", (date(1969, 12, 31) - date(1970, 1, 1)).days),
        (TimestampType(), "1970-01-01 00:00:01", 1_000_000),
        (TimestampType(), "1970-01-02", 86_400_000_000),
        (TimestamptzType(), "1970-01-01 00:00:01.5", 1_500_000),
        (DoubleType(), "1.5", 1.5),
        (StringType(), "", ""),
    ],
    ids=str,
)
def test_the_text_of_a_folder_is_read_by_type(kind, text: str, value: object) -> None:
    assert partition_value(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (BooleanType(), "1"),
        (IntegerType(), str(2**31)),
        (DecimalType(9, 2), "1.555"),
        (DecimalType(9, 2), "x"),
        (DateType(), "2024-13-01"),
        (StructType(), "x"),
    ],
    ids=str,
)
def test_text_that_is_no_value_is_refused(kind, text: str) -> None:
    with pytest.raises((InvalidInputError, ValueError)):
        partition_value(kind, text)
