"""The planner against brute force over rows: nothing is lost, nothing applies that must not."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.evaluate import evaluate
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.split import SplitOptions
from iceberg_spark.spec.metadata import TableMetadata
from tests.builders import metadata, scan_of
from tests.properties.expr_strategies import predicates
from tests.properties.plan_tables import COLUMNS, SPECS, Delete, File, tables
from tests.unit.scan.tables import IO, commit


def written(folder: str, parts: Sequence[File | Delete], order: Sequence[int]) -> TableMetadata:
    """A table with these entries, in a manifest for each spec and kind."""
    base = replace(
        metadata(COLUMNS, location=folder), partition_specs=SPECS, last_sequence_number=10
    )
    for spec_id in order:
        for kind in (File, Delete):
            entries = [one.entry for one in parts if one.spec_id == spec_id and type(one) is kind]
            if entries:
                base = commit(base, entries, spec_id=spec_id)
    return base


def planned(folder: str, drawn: Any, row_filter: Unbound, order: Sequence[int]) -> ScanPlan:
    data, deletes = drawn
    base = written(folder, [*data, *deletes], order)
    return plan(base, IO, scan_of(base, row_filter=row_filter))


@settings(max_examples=100)
@given(tables(), predicates(COLUMNS.fields), st.permutations(sorted(SPECS)))
def test_a_plan_finds_every_row_and_every_delete(
    drawn: Any, row_filter: Unbound, order: Sequence[int]
) -> None:
    data, deletes = drawn
    bound = bind(COLUMNS, row_filter)
    with tempfile.TemporaryDirectory() as folder:
        tasks = {task.file_path: task for task in planned(folder, drawn, row_filter, order)}
    for file in data:
        matching = [at for at, row in enumerate(file.rows) if evaluate(bound, row)]
        if file.path not in tasks:
            assert not matching, f"{file} is lost"
            continue
        task = tasks[file.path]
        left = [at for at, row in enumerate(file.rows) if evaluate(task.residual, row)]
        assert left == matching, f"the residual {task.residual} is not {bound}"
        attached = {one.file_path for one in task.delete_files}
        for delete in deletes:
            applies = delete.applies_to(file)
            if delete.path in attached:
                assert applies, f"{delete} must not apply to {file}"
            elif applies:
                gone = [at for at in matching if delete.deletes(file, at)]
                assert not gone, f"{delete} is missing from {file}"


@settings(max_examples=40)
@given(
    tables(),
    st.lists(st.lists(st.integers(0, 99), max_size=4, unique=True).map(sorted), min_size=5),
    st.integers(1, 120),
    st.integers(1, 4),
)
def test_groups_read_every_byte_once(
    drawn: Any, offsets: list[list[int]], split_size: int, lookback: int
) -> None:
    data, deletes = drawn
    cut = [
        replace(file, entry=file.entry | {"split_offsets": known})
        for file, known in zip(data, offsets, strict=False)
    ]
    with tempfile.TemporaryDirectory() as folder:
        base = written(folder, [*cut, *deletes], sorted(SPECS))
        found = plan(base, IO, scan_of(base))
    groups = found.groups(SplitOptions(split_size, lookback, 10))
    ranges: dict[str, list[tuple[int, int]]] = {file.path: [] for file in cut}
    for group in groups:
        assert group
        for task in group:
            ranges[task.file_path].append((task.start, task.start + task.length))
    for path, parts in ranges.items():
        ends = [0, *(end for _, end in sorted(parts))]
        assert [start for start, _ in sorted(parts)] == ends[:-1], path
        assert ends[-1] == 100
