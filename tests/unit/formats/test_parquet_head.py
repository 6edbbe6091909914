"""The head of a footer against what Arrow reads of the whole file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.formats.parquet_head import read_footer_head
from iceberg_spark.io.fsspec_io import FsspecIO

IO = FsspecIO()
COLUMNS = pa.schema(
    [
        pa.field("i", pa.int32(), metadata={"PARQUET:field_id": "7"}),
        pa.field("d", pa.decimal128(9, 2), nullable=False),
        pa.field("t", pa.timestamp("us", "UTC")),
        pa.field("ms", pa.timestamp("ms")),
        pa.field("s", pa.struct([("x", pa.uint8()), ("y", pa.list_(pa.string()))])),
        pa.field("m", pa.map_(pa.string(), pa.date32())),
        pa.field("b", pa.bool_()),
    ]
)


def written(path: Path, schema: pa.Schema = COLUMNS, rows: int = 3) -> str:
    columns = [pa.nulls(rows, field.type) for field in schema]
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    pq.write_table(pa.Table.from_arrays(columns, schema=nullable), path, row_group_size=2)
    return str(path)


def test_columns_rows_and_size_are_those_that_arrow_reads(tmp_path: Path) -> None:
    path = written(tmp_path / "f")
    head, metadata = read_footer_head(IO, path), pq.read_metadata(path)
    stored = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    assert head.rows == 3
    assert head.file_size == Path(path).stat().st_size
    assert head.columns.fields == file_fields(metadata.schema.to_arrow_schema())
    assert [(leaf.physical, leaf.logical) for leaf in head.columns.leaves] == [
        (each.physical_type, each.logical_type.type) for each in stored
    ]


@pytest.mark.parametrize(
    ("said", "rebased"),
    [
        ({}, False),
        ({"org.apache.spark.version": "3.5.1"}, False),
        ({"org.apache.spark.version": "2.4.8"}, True),
        ({"org.apache.spark.version": "4.1.4", "org.apache.spark.legacyDateTime": ""}, True),
    ],
)
def test_a_former_spark_is_told(tmp_path: Path, said: dict[str, str], rebased: bool) -> None:
    pq.write_table(pa.table({"d": [1]}).replace_schema_metadata(said), tmp_path / "f")
    assert read_footer_head(IO, str(tmp_path / "f")).is_rebased is rebased


def test_files_with_equal_columns_share_them(tmp_path: Path) -> None:
    one = read_footer_head(IO, written(tmp_path / "1"))
    other = read_footer_head(IO, written(tmp_path / "2", rows=70))
    longer = read_footer_head(IO, written(tmp_path / "3", COLUMNS.append(pa.field("z", "int8"))))
    assert one.columns is other.columns
    assert (one.rows, other.rows) == (3, 70)
    assert longer.columns is not one.columns


def test_a_footer_of_any_length_is_read(tmp_path: Path) -> None:
    wide = pa.schema([pa.field(f"a column with a name {n}", pa.int64()) for n in range(2_000)])
    head = read_footer_head(IO, written(tmp_path / "f", wide))
    assert len(head.columns.fields) == 2_000
    assert head.rows == 3


@pytest.mark.slow
def test_every_cut_or_changed_footer_is_read_or_named(tmp_path: Path) -> None:
    data = Path(written(tmp_path / "f")).read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path, named = tmp_path / "changed", []
    for at in range(start, len(data)):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 0x81]) + data[at + 1 :]):
            path.write_bytes(changed)
            try:
                read_footer_head(IO, str(path))
            except CorruptFileError as error:
                named.append(str(path) in str(error))
    assert all(named) and len(named) > len(data) - start


def test_a_missing_file_and_one_of_another_format_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFileError, match="gone"):
        read_footer_head(IO, str(tmp_path / "gone"))
    (tmp_path / "text").write_text("no parquet")
    with pytest.raises(CorruptFileError, match="text is no Parquet file"):
        read_footer_head(IO, str(tmp_path / "text"))
