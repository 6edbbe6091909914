"""`add_files` refuses files that no reader of this library could read afterwards."""

from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import UnsupportedError
from tests.parquet_files import decimal_column, decimal_file, lzo_file


def test_decimals_wider_than_arrows_are_refused_by_column(tmp_path: Path) -> None:
    wide = decimal_column("fixed", 17, 38)
    assert wide is not None
    path = decimal_file(tmp_path / "f.parquet", [5, None], {"d": wide})
    table = ice.create_table(str(tmp_path / "t"), "id bigint, d decimal(38, 2)")
    with pytest.raises(UnsupportedError, match=r"'d' of .*f.parquet stores decimals in 17 bytes"):
        table.add_files([str(path)])
    assert table.current_snapshot() is None


def test_files_compressed_by_lzo_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    lzo_file(path, pa.table({"id": pa.array([1], pa.int64())}))
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    with pytest.raises(UnsupportedError, match=r"'id' of .*f.parquet is compressed by LZO"):
        table.add_files([str(path)])
    assert table.current_snapshot() is None
