"""Files that manifests list, read some manifests at a time."""

from pathlib import Path

import pytest

from iceberg_spark.maintenance import reachable
from iceberg_spark.maintenance.limits import EXPIRING
from iceberg_spark.maintenance.reachable import MANIFESTS, Manifests, live_files, unreachable_files
from iceberg_spark.manifest.manifest_list import read_manifest_list_columns
from tests.limits import set_limits
from tests.unit.scan.entries import data
from tests.unit.scan.tables import IO, commit, new_table


@pytest.fixture
def manifests(tmp_path: Path) -> object:
    """Three manifests, of which the second lists a file of the first again."""
    files = [data("/t/a"), data("/t/b")], [data("/t/b"), data("/t/c")], [data("/t/d")]
    base = commit(new_table(tmp_path), *files)
    snapshot = base.current_snapshot
    assert snapshot is not None
    return read_manifest_list_columns(IO, snapshot, base, MANIFESTS.names).cast(MANIFESTS)


@pytest.mark.parametrize(("size", "tables"), [(EXPIRING.manifest_bytes_at_once, 1), (1, 3)])
def test_manifests_are_decoded_together_up_to_a_size(
    manifests: object, monkeypatch: pytest.MonkeyPatch, size: int, tables: int
) -> None:
    set_limits(monkeypatch, reachable, "EXPIRING", manifest_bytes_at_once=size)
    found = list(live_files(IO, manifests))
    assert len(found) == tables
    paths = [path for table in found for path in table.column("file_path").to_pylist()]
    assert paths == ["/t/a", "/t/b", "/t/b", "/t/c", "/t/d"]


def test_a_file_that_several_manifests_list_is_unreachable_once(manifests: object) -> None:
    left = unreachable_files(IO, Manifests(manifests, MANIFESTS.empty_table()))
    assert left.column("file_path").to_pylist() == ["/t/a", "/t/b", "/t/c", "/t/d"]


def test_a_file_that_a_kept_manifest_lists_is_reachable(manifests: object) -> None:
    gone, kept = manifests.slice(0, 1), manifests.slice(1)  # type: ignore[attr-defined]
    left = unreachable_files(IO, Manifests(gone, kept))
    assert left.column("file_path").to_pylist() == ["/t/a"]
