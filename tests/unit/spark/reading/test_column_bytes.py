"""What columns take in files is told by one manifest of the snapshot, and by rows, not files."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.spark.reading import relation_size as module
from iceberg_spark.spark.reading.relation_size import column_bytes
from tests.unit.scan.entries import data
from tests.unit.scan.tables import commit, new_table, planned


def sized(path: str, rows: int, sizes: Mapping[int, int] | None, **rest: Any) -> dict[str, Any]:
    """A data file of some rows whose columns take so many bytes."""
    pairs = None if sizes is None else [{"key": k, "value": v} for k, v in sizes.items()]
    return {**data(path, **rest), "record_count": rows, "column_sizes": pairs}


def test_bytes_are_of_rows_of_all_files_that_say_them(tmp_path: Path) -> None:
    base = commit(
        new_table(tmp_path),
        [sized("a", 10, {1: 80, 2: 10}), sized("b", 30, {1: 240}), sized("c", 1_000, None)],
    )
    assert column_bytes(planned(base)) == {1: 8.0, 2: 1.0}


def test_files_that_are_gone_say_nothing(tmp_path: Path) -> None:
    base = commit(
        new_table(tmp_path),
        [sized("a", 10, {1: 80}), sized("b", 10, {1: 8_000}, status=2)],
    )
    assert column_bytes(planned(base)) == {1: 8.0}


def test_a_file_without_rows_takes_no_part(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [sized("a", 0, {1: 80})])
    assert column_bytes(planned(base)) == {}


def test_the_manifest_of_most_rows_is_asked(tmp_path: Path) -> None:
    """A batch of one row takes many bytes: its dictionary and its page are for itself."""
    base = commit(new_table(tmp_path), [sized("a", 1, {1: 90})], [sized("b", 500, {1: 1_000})])
    assert column_bytes(planned(base)) == {1: 2.0}


def test_a_long_manifest_is_not_decoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = commit(new_table(tmp_path), [sized("a", 10, {1: 80})])
    monkeypatch.setattr(module, "PLANNING", replace(PLANNING, sampled_manifest_bytes=100))
    assert column_bytes(planned(base)) == {}


def test_a_table_without_snapshots_says_nothing(tmp_path: Path) -> None:
    assert column_bytes(planned(new_table(tmp_path))) == {}


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_damaged_manifest_stops_no_query_that_does_not_read_it(
    tmp_path: Path, is_gone: bool
) -> None:
    """A size is a hint: whoever reads what of a broken table can be read is not refused by it."""
    base = commit(new_table(tmp_path), [sized("a", 10, {1: 80})])
    made = planned(base)
    path = tmp_path / "1-0-0.avro"
    path.unlink() if is_gone else path.write_bytes(b"Obj\x01" + path.read_bytes()[4:60])
    assert column_bytes(made) == {}
