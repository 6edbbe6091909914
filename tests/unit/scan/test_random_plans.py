"""Plans of random tables are those that a loop over files and deletes makes."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from iceberg_spark.expr.nodes import (
    ALWAYS_FALSE,
    And,
    Bound,
    BoundReference,
    Comparison,
    Constant,
    In,
    IsNull,
    Op,
    Or,
)
from iceberg_spark.expr.project import residual
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.scan import planning_tasks
from iceberg_spark.scan.plan_cache import PLAN_CACHE
from iceberg_spark.scan.planner import plan
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.transform_text import parse_partition_spec
from iceberg_spark.spec.transforms import BucketTransform
from tests.builders import scan_of
from tests.limits import set_limits
from tests.unit.scan.entries import COLUMNS, bounds, counts, data, equality, position, vector
from tests.unit.scan.tables import (
    IO,
    PLANNING_MODES,
    PickledTasks,
    commit,
    new_table,
    planned,
    with_spec,
)

SPECS = (["id"], ["bucket(4, id)"], ["truncate(10, id)"], [], ["truncate(5, id)", "s"])
FILTERS = (
    None,
    "id >= 10 and id < 20",
    "id = 17",
    "id in (3, 17, 40)",
    "id between 8 and 12 or s = 'b'",
    "id <> 5 and s is not null",
    "id is null or id > 45",
    "s is null",
    "(id >= 20 and s = 'a') or (id < 10 and s = 'c')",
)
ROWS, DELETED = 10, 2


@pytest.mark.parametrize("seed", range(24))
def test_a_random_table_plans_as_a_loop_over_its_files_does(tmp_path: Path, seed: int) -> None:
    base = _random_table(tmp_path, random.Random(seed))
    for row_filter in FILTERS:
        found = [
            (task.file_path, _names(task.delete_files), task.residual)
            for task in planned(base, row_filter)
        ]
        assert found == list(_expected(base, row_filter)), row_filter


@pytest.mark.parametrize("seed", range(24))
def test_tasks_plan_a_random_table_as_one_process_does(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, planning_tasks, "PLANNING", task_manifest_bytes=8_000)
    rng = random.Random(seed)
    base = _random_table(tmp_path, rng)
    tasks = PickledTasks(dict.fromkeys(PLANNING_MODES, "distributed"))
    for row_filter, whole_files in product(FILTERS, (False, True)):
        context = scan_of(base, row_filter=row_filter)
        PLAN_CACHE.clear()
        expected = plan(base, IO, context, whole_files=whole_files)
        PLAN_CACHE.clear()
        by_tasks = plan(base, IO, context, whole_files=whole_files, tasks=tasks)
        assert list(by_tasks) == list(expected), row_filter
        assert replace(by_tasks.metrics, planning_seconds=0) == replace(
            expected.metrics, planning_seconds=0
        )
    assert tasks.jobs


def _names(deletes: Any) -> list[str]:
    return sorted(delete.file_path for delete in deletes)


def _random_table(folder: Path, rng: random.Random) -> TableMetadata:
    version = rng.choice((1, 2, 3))
    base = new_table(folder, rng.choice(SPECS), format_version=version)
    spec = parse_partition_spec(rng.choice(SPECS), COLUMNS)
    base = with_spec(base, PartitionSpec(1, spec.fields))
    files: list[tuple[str, int, tuple[Any, ...], int]] = []
    for _ in range(rng.randint(2, 5)):
        number, spec_id = base.last_sequence_number + 1, rng.choice((0, 1))
        entries = [
            _random_file(base, rng, f"{number}-{n}", number, spec_id)
            for n in range(rng.randint(1, 8))
        ]
        files += [
            (str(e["file_path"]), number, tuple(e["partition"]), spec_id)
            for e in entries
            if e["status"] != DELETED
        ]
        base = commit(base, entries, spec_id=spec_id, format_version=version)
        if version > 1 and files and rng.random() < 0.7:
            base = _with_deletes(base, rng, files, version)
    return base


def _random_file(
    base: TableMetadata, rng: random.Random, path: str, number: int, spec_id: int
) -> dict[str, Any]:
    """An entry of random bounds; some statistics are missing, some files hold nulls only."""
    low = rng.randint(0, 50)
    text = rng.choice((None, "a", "b", "c"))
    value = None if rng.random() < 0.15 else low
    partition = tuple(
        _partition_value(field, value, text) for field in base.partition_specs[spec_id].fields
    )
    known = rng.random()
    more: dict[str, Any] = {}
    is_constant = value is None or any(isinstance(p, int) for p in partition)
    if known > 0.2 and value is not None:
        more |= bounds(id=(low, low if is_constant else low + 4))
    if known > 0.4:
        nulls = ROWS if value is None else 0
        of_text = ROWS if text is None else 0
        more |= counts("value_counts", id=ROWS, s=ROWS)
        more |= counts("null_value_counts", id=nulls, s=of_text)
    status = DELETED if rng.random() < 0.1 else 1
    return data(path, number, partition, status=status, snapshot_id=number, **more)


def _partition_value(field: Any, value: int | None, text: str | None) -> Any:
    if COLUMNS.find_column_name(field.source_ids[0]) == "s":
        return text
    if value is None or not isinstance(field.transform, BucketTransform):
        return _truncated(field.transform, value)
    return value % 4  # any bucket: planning does not look into files


def _truncated(transform: Any, value: int | None) -> int | None:
    width = getattr(transform, "width", 1)
    return None if value is None else value - value % width


def _with_deletes(
    base: TableMetadata, rng: random.Random, files: list[Any], version: int
) -> TableMetadata:
    number = base.last_sequence_number + 1
    path, _, partition, spec_id = rng.choice(files)
    entries = []
    if version == 3 and not any(path in str(entry) for entry in _deletes(base)):
        entries.append(vector(path, number, partition))
    elif version == 2:
        aim = {"referenced_data_file": path} if rng.random() < 0.5 else {}
        entries.append(position(f"p{number}", number, partition, **aim))
    if rng.random() < 0.6:
        entries.append(equality(f"e{number}", [1], number, partition))
    return commit(base, entries, spec_id=spec_id, format_version=version) if entries else base


def _rows(base: TableMetadata) -> Iterator[tuple[int, dict[str, Any]]]:
    """The live entries in the order of the manifests, as Python values."""
    assert base.current_snapshot is not None
    for manifest in read_manifest_list(IO, base.current_snapshot, base):
        spec = base.partition_specs[manifest.partition_spec_id]
        for row in read_manifest(IO, manifest, partition_type(spec, base.schema)).to_pylist():
            if row["status"] != DELETED:
                yield spec.spec_id, row


def _deletes(base: TableMetadata) -> list[tuple[int, dict[str, Any]]]:
    return [(spec_id, row) for spec_id, row in _rows(base) if row["content"]]


def _expected(
    base: TableMetadata, row_filter: str | None
) -> Iterator[tuple[str, list[str], Bound]]:
    bound = scan_of(base, row_filter=row_filter).row_filter
    deletes = _deletes(base)
    for spec_id, row in _rows(base):
        spec = base.partition_specs[spec_id]
        left = residual(bound, spec, base.schema, list(row["partition"].values()))
        if row["content"] == 0 and left != ALWAYS_FALSE and _may_match(left, row):
            yield row["file_path"], sorted(_applied(spec, row, deletes)), left


def _applied(spec: PartitionSpec, row: dict[str, Any], deletes: list[Any]) -> list[str]:
    vectors = [
        delete["file_path"]
        for _, delete in deletes
        if delete["file_format"] == "PUFFIN" and delete["referenced_data_file"] == row["file_path"]
    ]
    applied = list(vectors)
    for of_spec, delete in deletes:
        newer = delete["data_sequence_number"] - row["data_sequence_number"]
        same = of_spec == spec.spec_id and delete["partition"] == row["partition"]
        if delete["content"] == 2:
            everywhere = delete["partition"] == {} and newer > 0
            applies = newer > 0 and (same or everywhere)
        else:
            aim = delete["referenced_data_file"]
            applies = delete["file_format"] != "PUFFIN" and not vectors and newer >= 0
            applies = applies and same and aim in (None, row["file_path"])
        if applies:
            applied.append(delete["file_path"])
    return applied


def _may_match(bound: Bound, row: dict[str, Any]) -> bool:
    match bound:
        case Constant(value=value):
            return value
        case And(children=children):
            return all(_may_match(child, row) for child in children)
        case Or(children=children):
            return any(_may_match(child, row) for child in children)
        case _:
            assert isinstance(bound, Comparison | In | IsNull)
            assert isinstance(bound.term, BoundReference)
            return _leaf(bound, row, bound.term.field_id)


def _leaf(leaf: Comparison | In | IsNull, row: dict[str, Any], field_id: int) -> bool:
    nulls = _of_map(row, "null_value_counts", field_id)
    only_nulls = nulls is not None and nulls == _of_map(row, "value_counts", field_id)
    if isinstance(leaf, IsNull):
        return not only_nulls if leaf.negated else nulls != 0
    low, high = (_of_map(row, name, field_id) for name in ("lower_bounds", "upper_bounds"))
    if only_nulls or low is None or high is None:
        return not only_nulls
    least, most = int.from_bytes(low, "little"), int.from_bytes(high, "little")
    if isinstance(leaf, In):
        return any(least <= value <= most for value in leaf.values)
    value: Any = leaf.value
    return {
        Op.EQ: least <= value <= most,
        Op.NE: not least == value == most,
        Op.LT: least < value,
        Op.LE: least <= value,
        Op.GT: most > value,
        Op.GE: most >= value,
    }[leaf.op]


def _of_map(row: dict[str, Any], name: str, field_id: int) -> Any:
    return {pair["key"]: pair["value"] for pair in row[name] or ()}.get(field_id)
