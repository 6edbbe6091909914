"""Dynamic partition overwrite."""

import pytest

from iceberg_spark.errors import ValidationException
from iceberg_spark.transaction.append import AppendFiles
from iceberg_spark.transaction.planned import Planned
from iceberg_spark.transaction.replace_partitions import ReplacePartitions
from iceberg_spark.transaction.row_delta import RowDelta
from tests.builders import position_deletes, schema
from tests.unit.transaction.tables import file, live, make_table, run


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
