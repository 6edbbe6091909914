"""Plans of snapshots are kept, for those alone who would plan the same."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.errors import NoSuchFileError
from iceberg_spark.expr.variant_filter import VariantFilter
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.reader import MANIFEST_CACHE
from iceberg_spark.scan import plan_cache
from iceberg_spark.scan.plan_cache import PLAN_CACHE
from iceberg_spark.scan.planner import plan
from iceberg_spark.spec.metadata import TableMetadata
from tests.builders import scan_of
from tests.unit.scan.entries import bounds, data, position
from tests.unit.scan.tables import IO, commit, new_table, paths, planned


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    """Each test begins with nothing kept, and leaves nothing."""
    PLAN_CACHE.clear()
    yield
    PLAN_CACHE.clear()


def unlisted(base: TableMetadata) -> TableMetadata:
    """The table, whose newest manifest list is gone: who plans anew fails."""
    Path(str(base.snapshots[base.last_sequence_number].manifest_list)).unlink()
    return base


def test_a_snapshot_that_was_planned_is_not_read_again(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a"), data("b")])
    first = planned(base)
    again = planned(unlisted(base))
    assert (list(again), again.files) == (list(first), first.files)
    assert replace(again.metrics, planning_seconds=0) == replace(first.metrics, planning_seconds=0)


def test_a_kept_plan_has_the_storage_of_who_asks(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    planned(base)
    mine = FsspecIO({})
    found = plan(base, mine, replace(scan_of(base), io=mine))
    assert found.context.io is mine


@pytest.mark.parametrize(
    "asked", [{"row_filter": "id > 0"}, {"selected_fields": ("id",)}, {"case_sensitive": False}]
)
def test_a_scan_of_other_rows_or_columns_is_planned(
    tmp_path: Path, asked: dict[str, object]
) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    planned(base)
    with pytest.raises(NoSuchFileError):
        plan(unlisted(base), IO, scan_of(base, **asked))


def test_a_scan_with_the_same_filter_is_not_planned_again(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a", **bounds(id=(1, 5))), data("b")])
    assert paths(planned(base, "id > 5")) == ["b"]
    assert paths(planned(unlisted(base), "id > 5")) == ["b"]


def test_filters_that_are_equal_to_python_alone_are_told_apart(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    plus = scan_of(base, row_filter="x < 0.0D")
    minus = replace(plus, row_filter=replace(plus.row_filter, value=-0.0))
    assert plus == minus
    plan(base, IO, plus)
    with pytest.raises(NoSuchFileError):
        plan(unlisted(base), IO, minus)


@pytest.mark.parametrize("asked", [{"whole_files": True}, {"residuals": False}])
def test_a_scan_of_whole_files_or_without_residuals_is_planned(
    tmp_path: Path, asked: dict[str, bool]
) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    planned(base, "id > 0")
    with pytest.raises(NoSuchFileError):
        plan(unlisted(base), IO, scan_of(base, row_filter="id > 0"), **asked)


def test_a_plan_by_a_long_filter_is_not_kept(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    planned(base, f"id IN ({', '.join(map(str, range(10_000)))})")
    assert PLAN_CACHE.count == 0


def test_files_that_fields_of_variants_leave_out_are_planned_for_each(tmp_path: Path) -> None:
    """They are no part of what the scan says it filters by."""
    base = commit(new_table(tmp_path), [data("a", **bounds(id=(1, 5))), data("b")])
    wanted = VariantFilter(scan_of(base, row_filter="id > 5").row_filter, {})
    assert paths(plan(base, IO, scan_of(base), pruned_by=wanted)) == ["b"]
    assert paths(planned(base)) == ["a", "b"]
    assert paths(plan(base, IO, scan_of(base), pruned_by=wanted)) == ["b"]


def test_the_next_snapshot_is_planned_with_its_deletes(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    assert paths(planned(base)) == ["a"]
    changed = commit(base, [position("p", 2)])
    (task,) = planned(changed)
    assert len(task.delete_files) == 1


def test_metadata_that_is_equal_but_read_anew_is_planned(tmp_path: Path) -> None:
    """Its files may have been written anew in between."""
    base = commit(new_table(tmp_path), [data("a")])
    planned(base)
    with pytest.raises(NoSuchFileError):
        planned(unlisted(replace(base)))


def test_who_clears_the_cache_of_manifests_clears_the_plans(tmp_path: Path) -> None:
    base = commit(new_table(tmp_path), [data("a")])
    planned(base)
    MANIFEST_CACHE.clear()
    with pytest.raises(NoSuchFileError):
        planned(unlisted(base))


def test_nothing_is_kept_where_the_cache_of_manifests_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_cache, "MANIFEST_CACHE", BoundedCache(0))
    planned(commit(new_table(tmp_path), [data("a")]))
    assert PLAN_CACHE.count == 0


def test_plans_are_kept_up_to_a_number_and_to_so_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = count()

    def kept_of(some: BoundedCache) -> int:
        monkeypatch.setattr(plan_cache, "PLAN_CACHE", some)
        base = new_table(tmp_path / str(next(numbers)))
        for number in range(4):
            base = commit(base, [data(f"f{number}")])
            planned(base)
        return some.count

    size = planned(commit(new_table(tmp_path), [data("f0")])).files.nbytes
    assert kept_of(BoundedCache(entries=3)) == 3
    assert kept_of(BoundedCache(size - 1)) == 0
    assert kept_of(BoundedCache(8 * size)) in (1, 2)
