"""Appending Arrow data: what is taken, branches, snapshot properties, what is refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidSchemaError,
    InvalidTypeError,
    NoSuchSnapshotError,
)
from iceberg_spark.spec.snapshot import SnapshotRef, SnapshotRefType
from iceberg_spark.spec.updates import SetSnapshotRef
from tests.unit.api.tables import data_files, files_below, ids, make, new_location, rows


class Branch:
    """A change that sets a branch on the current snapshot."""

    def __init__(self, name: str, kind: SnapshotRefType = SnapshotRefType.BRANCH) -> None:
        self.name, self.kind = name, kind

    def validate(self, base: Any, io: Any) -> None: ...

    def prepare(self, base: Any, io: Any) -> ActionCommit:  # noqa: ARG002
        ref = SnapshotRef(base.current_snapshot_id, self.kind)
        return ActionCommit((SetSnapshotRef(self.name, ref),))

    def clean_up(self, io: Any, committed: Any) -> None: ...


def branched(name: str = "dev", kind: SnapshotRefType = SnapshotRefType.BRANCH) -> Any:
    table = make(partition_by=["k"])
    table.append(rows(id=[1], k=["a"]))
    with table.transaction() as tx:
        tx._staged.actions.append(Branch(name, kind))
    return table


@pytest.mark.parametrize(
    "given",
    [
        rows(id=[1, 2]),
        rows(id=[1, 2]).to_batches()[0],
        pa.RecordBatchReader.from_batches(rows(id=[1]).schema, rows(id=[1, 2]).to_batches()),
    ],
    ids=lambda it: type(it).__name__,
)
def test_arrow_tables_batches_and_readers_are_taken(given: Any):
    table = make()
    table.append(given)
    assert ids(table) == [1, 2]


@pytest.mark.parametrize("given", [[{"id": 1}], {"id": [1]}, pd.Series([1]).to_numpy(), None])
def test_other_things_are_no_rows(given: Any):
    table = make()
    with pytest.raises(InvalidTypeError, match=f"not {type(given).__name__}"):
        table.append(given)


def test_columns_are_matched_by_name_and_missing_optional_ones_are_null():
    table = make()
    table.append(rows(k=["a"], id=[1]))
    table.append(rows(id=[2]))
    found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert found == [{"id": 1, "k": "a"}, {"id": 2, "k": None}]


def test_a_missing_struct_with_required_fields_is_null():
    """Parquet refuses nulls in required fields, even of a struct that is null itself."""
    table = ice.create_table(
        new_location(),
        "id bigint, p struct<x: double NOT NULL, q: struct<y: string NOT NULL, z: int> NOT NULL>",
    )
    table.append(rows(id=[1]))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "p": None}]


def test_values_are_widened_and_never_narrowed():
    table = make(schema="id bigint, x double")
    table.append(pa.table({"id": pa.array([1], pa.int32()), "x": pa.array([0.5], pa.float32())}))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "x": 0.5}]
    with pytest.raises(InvalidSchemaError, match="'id' is long in the table and double"):
        table.append(rows(id=[1.0]))


def test_names_have_case_unless_told_otherwise():
    table = make()
    with pytest.raises(InvalidSchemaError, match="'ID'"):
        table.append(rows(ID=[1]))
    table.append(rows(ID=[1]), case_sensitive=False)
    assert ids(table) == [1]


def test_a_null_in_a_required_column_is_refused_and_leaves_nothing(tmp_path: Path):
    table = make(tmp_path / "t", schema="id bigint not null, k string")
    before = files_below(tmp_path)
    with pytest.raises(InvalidInputError, match="'id' is required"):
        table.append(rows(id=[1, None], k=["a", "b"]))
    assert files_below(tmp_path) == before


def test_a_failure_in_a_later_batch_removes_what_was_written(tmp_path: Path):
    table = make(tmp_path / "t", partition_by=["k"])
    before = files_below(tmp_path)
    first = rows(id=[1], k=["a"]).to_batches()[0]

    def batches() -> Any:
        yield first
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        table.append(pa.RecordBatchReader.from_batches(first.schema, batches()))
    assert files_below(tmp_path) == before
    assert table.refresh().snapshots() == []


def test_no_rows_make_no_files_but_a_snapshot():
    """As Java and PyIceberg: an append is an append."""
    table = make()
    table.append(rows(id=pa.array([], pa.int64())))
    assert data_files(table) == set()
    assert table.scan().count() == 0


def test_snapshot_properties_are_written_to_the_summary():
    table = make()
    table.append(rows(id=[1]), snapshot_properties={"job": "nightly"})
    assert table.current_snapshot().summary["job"] == "nightly"


@pytest.mark.parametrize("given", [{"a": 1}, {"a": None}, {1: "a"}])
def test_a_snapshot_property_that_is_no_text_is_refused_and_leaves_nothing(
    given: dict[Any, Any], tmp_path: Path
):
    table = make(tmp_path / "t")
    before = files_below(tmp_path)
    with pytest.raises(InvalidTypeError, match=r"must be text"):
        table.append(rows(id=[1]), snapshot_properties=given)
    assert files_below(tmp_path) == before


def test_a_snapshot_property_does_not_replace_a_count():
    table = make()
    table.append(rows(id=[1]), snapshot_properties={"total-records": "7", "added-records": "7"})
    summary = table.current_snapshot().summary
    assert (summary["total-records"], summary["added-records"]) == ("1", "1")


def test_a_branch_is_written_to_and_main_stays():
    table = branched("dev")
    table.append(rows(id=[2], k=["a"]), branch="dev")
    assert ids(table) == [1]
    assert ids(table, branch="dev") == [1, 2]


def test_every_verb_writes_to_a_branch():
    table = branched("dev")
    table.append(rows(id=[2], k=["b"]), branch="dev")
    table.dynamic_partition_overwrite(rows(id=[3], k=["b"]), branch="dev")
    assert ids(table, branch="dev") == [1, 3]
    table.overwrite(rows(id=[4], k=["c"]), "id = 1", branch="dev")
    assert ids(table, branch="dev") == [3, 4]
    assert ids(table) == [1]


def test_an_unknown_branch_is_refused_and_leaves_nothing(tmp_path: Path):
    table = make(tmp_path / "t")
    before = files_below(tmp_path)
    with pytest.raises(NoSuchSnapshotError, match=r"No branch 'dev'.*main"):
        table.append(rows(id=[1]), branch="dev")
    assert files_below(tmp_path) == before


def test_a_tag_can_not_be_written_to():
    table = branched("v1", SnapshotRefType.TAG)
    with pytest.raises(InvalidInputError, match="'v1' is a tag"):
        table.append(rows(id=[2], k=["a"]), branch="v1")


def test_a_stale_table_appends_to_the_newest_version():
    table = make()
    stale = ice.load_table(table.location())
    table.append(rows(id=[1]))
    stale.append(rows(id=[2]))
    assert ids(stale) == [1, 2]


def test_the_engine_that_writes_frames_is_shown_with_its_reason(tmp_path: Path):
    table = ice.create_table(str(tmp_path / "t"), "id int, l array<int>", partition_by=["id"])
    assert table.explain_append() == (
        "engine: arrow, because column 'l' is a list or map, whose parts get no field ids from "
        "Spark\ndistribution-mode: hash, rows of a task unsorted"
    )
    with table.update_schema() as update:
        update.delete_column("l")
    assert table.explain_append().startswith("engine: native, because")
