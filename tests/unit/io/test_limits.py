"""How far a file may grow when it is decompressed: far enough for each honest manifest."""

from pathlib import Path

import pytest

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.io.limits import Limits, limits_of
from iceberg_spark.io.storage import open_storage

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("stored", "allowed", "reason"),
    [
        (1_000, 16 * MB, "a small file may always grow to 16 MB"),
        (300_000, 256 * MB, "30,000 entries that differ by a number grow 120 times"),
        (2 * MB, 400 * MB, "columns that are mostly null grow 100 times"),
        (8 * MB, 512 * MB, "a manifest as large as Java writes them holds 64 times its size"),
        (100 * MB, 3_200 * MB, "a million entries with names of their own grow 20 times at most"),
    ],
)
def test_a_file_may_grow_by_its_size(stored: int, allowed: int, reason: str) -> None:
    assert Limits().bytes_for(stored) == pytest.approx(allowed, rel=0.05), reason


def test_a_manifest_of_7_mb_may_not_grow_to_1_5_gb() -> None:
    assert Limits().bytes_for(7 * MB) < 1_500 * MB // 2


def test_a_storage_property_raises_the_limit() -> None:
    raised = limits_of({"io.max-decompressed-bytes": str(2_000 * MB)})
    assert raised.bytes_for(7 * MB) == 2_000 * MB


def test_a_sparse_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "snap-1.avro"
    with path.open("wb") as out:
        out.truncate(8 << 30)
    with pytest.raises(CorruptFileError, match=r"snap-1\.avro has 8,589,934,592 bytes"):
        open_storage().read_bytes(str(path))
