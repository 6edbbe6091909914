"""Dynamic partition overwrite."""

from collections.abc import Callable

import pytest

from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.conflicts import Planned
from iceberg_spark.commits.metadata_changes import SetSpec
from iceberg_spark.commits.overwrite_files import ReplacePartitions
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import ValidationException
from iceberg_spark.spec.spec_evolution import SpecUpdate
from iceberg_spark.spec.transforms import BucketTransform
from tests.builders import position_deletes, schema
from tests.unit.commits.tables import LoadedTable, file, live, make_table, run


def respecified(table: LoadedTable, change: Callable[[SpecUpdate], None]) -> LoadedTable:
    update = SpecUpdate(table.metadata)
    change(update)
    spec = update.apply()
    return run(table, SetSpec(spec, table.metadata, before=table.metadata.spec))


def test_only_the_partitions_of_the_new_files_are_replaced():
    table = make_table(["region", "bucket(4, id)"])
    rows = [file(table, "a", "x", 1), file(table, "b", "x", 2), file(table, "c", "y", 1)]
    table = run(table, AppendFiles(rows))
    table = run(table, ReplacePartitions([file(table, "new", "x", 1)]))
    assert live(table.metadata) == {"b", "c", "new"}
    snapshot = table.metadata.current_snapshot
    assert snapshot is not None
    assert snapshot.summary["replace-partitions"] == "true"
    assert snapshot.operation == "overwrite"


def test_the_null_partition_is_one_of_its_own():
    table = make_table(["region"])
    table = run(table, AppendFiles([file(table, "a", None), file(table, "b", "")]))
    table = run(table, ReplacePartitions([file(table, "new", None)]))
    assert live(table.metadata) == {"b", "new"}


def test_nan_equals_nan_and_negative_zero_differs_from_zero():
    table = make_table(["v"], columns=schema(("id", "long"), ("region", "string"), ("v", "double")))
    rows = [file(table, "nan", float("nan")), file(table, "minus", -0.0), file(table, "zero", 0.0)]
    table = run(table, AppendFiles(rows))
    new = [file(table, "n", float("nan")), file(table, "m", -0.0)]
    table = run(table, ReplacePartitions(new))
    assert live(table.metadata) == {"zero", "n", "m"}


def test_zero_and_negative_zero_are_replaced_each():
    table = make_table(["v"])
    table = run(table, AppendFiles([file(table, "minus", -0.0), file(table, "zero", 0.0)]))
    new = [file(table, "z", 0.0), file(table, "m", -0.0)]
    assert live(run(table, ReplacePartitions(new)).metadata) == {"z", "m"}


@pytest.mark.parametrize("format_version", [1, 2])
def test_files_of_all_specs_are_replaced_where_the_new_files_have_no_partition(format_version: int):
    table = make_table(["region"], format_version=format_version)
    table = run(table, AppendFiles([file(table, "a", "x"), file(table, "b", "y")]))
    table = respecified(table, lambda update: update.remove_field("region"))
    assert table.metadata.spec.is_unpartitioned
    tuple_of_void = (None,) * len(table.metadata.spec.fields)
    table = run(table, AppendFiles([file(table, "c", *tuple_of_void)]))
    if format_version == 2:
        deletes = f"{table.metadata.location}/d.parquet"
        table = run(
            table,
            RowDelta(deletes=[position_deletes(deletes, partition_spec_id=0, partition=("x",))]),
        )
    planned = Planned(table.metadata.current_snapshot_id)
    table = run(table, ReplacePartitions([file(table, "new", *tuple_of_void)], planned=planned))
    assert live(table.metadata) == {"new"}


def test_files_of_former_specs_stay_next_to_new_partitions():
    table = make_table(["region"])
    table = run(table, AppendFiles([file(table, "a", "x")]))
    table = respecified(table, lambda update: update.add_field(1, BucketTransform(4)))
    table = run(table, ReplacePartitions([file(table, "new", "x", 1)]))
    assert live(table.metadata) == {"a", "new"}


def test_an_unpartitioned_table_is_replaced_as_a_whole():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a"), file(table, "b")]))
    table = run(table, ReplacePartitions([file(table, "new")]))
    assert live(table.metadata) == {"new"}


def test_delete_files_of_a_replaced_partition_go_too():
    table = make_table(["region"])
    table = run(table, AppendFiles([file(table, "a", "x")]))
    deletes = [
        position_deletes(f"{table.metadata.location}/dx.parquet", partition=("x",)),
        position_deletes(f"{table.metadata.location}/dy.parquet", partition=("y",)),
    ]
    table = run(table, RowDelta(deletes=deletes))
    table = run(table, ReplacePartitions([file(table, "new", "x")]))
    assert live(table.metadata) == {"new", "dy"}


def test_nothing_is_replaced_by_nothing():
    table = make_table()
    table = run(table, AppendFiles([file(table, "a")]))
    assert run(table, ReplacePartitions([])) is table


@pytest.mark.parametrize(("region", "conflicts"), [("x", True), ("y", False)])
def test_an_append_to_a_replaced_partition_since_then_is_a_conflict(region: str, conflicts: bool):
    table = make_table(["region"])
    planned = run(table, AppendFiles([file(table, "a", "x")]))
    run(planned, AppendFiles([file(table, "late", region)]))
    action = ReplacePartitions(
        [file(table, "new", "x")], planned=Planned(planned.metadata.current_snapshot_id)
    )
    if conflicts:
        with pytest.raises(ValidationException, match=r"late\.parquet"):
            run(planned, action)
    else:
        assert live(run(planned, action).metadata) == {"new", "late"}
