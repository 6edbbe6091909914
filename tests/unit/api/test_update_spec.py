"""`t.update_spec()` and `t.update_sort_order()`: words, commits, two specs in one table."""

from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidSchemaError,
    ValidationException,
)
from iceberg_spark.spec.sort import NullOrder
from iceberg_spark.spec.transforms import BucketTransform
from tests.unit.api.tables import files_below, ids, make, rows


def names(table: Table) -> list[str]:
    return [part.name for part in table.spec().fields]


def some(*numbers: int) -> pa.Table:
    return rows(id=list(numbers), k=[f"k{number % 3}" for number in numbers])


def test_a_table_is_partitioned_anew_and_both_specs_are_planned():
    table = make()
    table.append(some(1, 2, 3))
    table.update_spec().add_field("k").add_field("bucket(4, id)", "b").commit()
    table.append(some(4, 5, 6))
    table.update_spec().remove_field("k").add_field("truncate(10, id) as t").commit()
    table.append(some(7, 8))
    assert names(table) == ["b", "t"]
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert ids(table, row_filter="k = 'k1'") == [1, 4, 7]
    assert ids(table, row_filter="id > 3 and id <= 7") == [4, 5, 6, 7]


def test_a_field_is_removed_by_name_or_by_what_it_is_made_of():
    table = make(partition_by=["bucket(4, id) as b", "k"])
    table.update_spec().remove_field("bucket(4, id)").commit()
    assert names(table) == ["k"]
    with table.update_spec() as update:
        update.remove_field("k")
    assert table.spec().is_unpartitioned


def test_fields_are_renamed_and_reordered():
    table = make(partition_by=["bucket(4, id) as b", "k"])
    table.update_spec().rename_field("b", "c").reorder(["k", "c"]).commit()
    assert names(table) == ["k", "c"]
    table.append(some(1, 2))
    assert ids(table, row_filter="k = 'k1'") == [1]


def test_a_spec_may_be_added_without_becoming_the_default():
    table = make()
    table.update_spec().add_field("k").add_non_default_spec().commit()
    assert names(table) == []
    assert [len(spec.fields) for spec in table.metadata.partition_specs.values()] == [0, 1]


def test_an_update_without_effect_commits_nothing(tmp_path: Path):
    table = make(tmp_path / "t", partition_by=["k"])
    before = files_below(tmp_path)
    with table.update_spec():
        pass
    table.update_spec().remove_field("k").add_field("k").commit()
    table.update_spec().add_non_default_spec().commit()
    assert files_below(tmp_path) == before


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("k", "'k' is the same"),
        ("days(id)", "day can't be used on column 'id' of type long"),
        ("s", "Column 's' .* not primitive"),
        ("l.element", "inside a list"),
        ("nowhere", "No column 'nowhere'; the table has: id"),
        ("sorted(k)", "Unknown transform 'sorted'"),
        ("bucket(0, id)", "number of buckets must be"),
        ("bucket(4, id) as k2 more", "Can't read"),
    ],
)
def test_a_refused_field_leaves_everything_as_it_was(tmp_path: Path, field: str, message: str):
    table = make(
        tmp_path / "t", "id bigint, k string, s struct<a: int>, l array<int>", partition_by=["k"]
    )
    before = files_below(tmp_path)
    with pytest.raises(InvalidSchemaError, match=message):
        table.update_spec().add_field(field).commit()
    assert files_below(tmp_path) == before


def test_a_change_of_the_partitioning_made_meanwhile_is_a_conflict():
    table = make()
    begun = table.update_spec()
    ice.load_table(table.location()).update_spec().add_field("k").commit()
    with pytest.raises(ValidationException, match=r"partitioning of .* changed by another"):
        begun.add_field("bucket(4, id)").commit()


def test_rows_and_columns_added_meanwhile_are_no_conflict():
    table = make()
    other = ice.load_table(table.location())
    other.append(some(1))
    other.update_schema().add_column("n", "int").commit()
    table.update_spec().add_field("k").commit()
    assert names(table) == ["k"]
    assert ids(table) == [1]


def test_an_append_planned_on_the_old_spec_lands_after_the_change():
    table = make()
    late = table.transaction()
    late.append(some(1))
    ice.load_table(table.location()).update_spec().add_field("k").commit()
    late.commit_transaction()
    table.append(some(2))
    assert ids(table.refresh(), row_filter="k = 'k1'") == [1]


def test_a_transaction_adds_a_column_partitions_by_it_and_writes():
    table = make()
    with table.transaction() as tx:
        tx.update_schema().add_column("n", "bigint").commit()
        tx.update_spec().add_field("n").commit()
        tx.update_sort_order().desc("n").commit()
        tx.append(rows(id=[1, 2], k=["a", "b"], n=[5, 6]))
    assert len(table.metadata.metadata_log) == 1
    assert len(list(table.scan().plan_files())) == 2
    with pytest.raises(InvalidSchemaError, match=r"'n' can't be deleted: partition field '\w+' \("):
        table.update_schema().delete_column("n").commit()
    with table.transaction() as tx:
        tx.update_spec().remove_field("n").commit()
        tx.update_sort_order().commit()
        tx.update_schema().delete_column("n").commit()
    assert ids(table) == [1, 2]
    assert table.scan().to_arrow().column_names == ["id", "k"]


def test_a_dynamic_overwrite_replaces_partitions_of_the_current_spec_only():
    table = make()
    table.append(some(1, 2))
    table.update_spec().add_field("k").commit()
    table.append(some(4, 5))
    table.dynamic_partition_overwrite(some(7))
    assert ids(table) == [1, 2, 5, 7]


def test_an_overwrite_and_a_delete_reach_rows_of_every_spec():
    table = make()
    table.append(some(1, 2, 3))
    table.update_spec().add_field("k").commit()
    table.append(some(4, 5, 6))
    table.overwrite(some(10), "k = 'k1'")
    assert ids(table) == [2, 3, 5, 6, 10]


@pytest.mark.parametrize(
    ("build", "shown"),
    [
        (lambda one: one.asc("id"), "[identity(1) asc nulls-first]"),
        (lambda one: one.desc("k"), "[identity(2) desc nulls-last]"),
        (lambda one: one.asc("k", null_order="nulls last"), "[identity(2) asc nulls-last]"),
        (
            lambda one: one.desc("id", BucketTransform(4), NullOrder.NULLS_FIRST),
            "[bucket[4](1) desc nulls-first]",
        ),
        (lambda one: one.asc("bucket(4, id)"), "[bucket[4](1) asc nulls-first]"),
        (lambda one: one.asc("k", "truncate[2]"), "[truncate[2](2) asc nulls-first]"),
        (
            lambda one: one.add_field("k desc nulls first").asc("id"),
            "[identity(2) desc nulls-first, identity(1) asc nulls-first]",
        ),
    ],
)
def test_a_sort_order_is_built(build, shown: str):  # type: ignore[no-untyped-def]
    table = make()
    build(table.update_sort_order()).commit()
    assert str(table.sort_order()) == shown
    assert table.sort_order().order_id == 1


def test_a_sort_order_is_replaced_found_again_and_dropped(tmp_path: Path):
    table = make(tmp_path / "t")
    table.update_sort_order().asc("id").commit()
    table.update_sort_order().asc("k").commit()
    assert table.sort_order().order_id == 2
    with table.update_sort_order() as update:
        update.asc("id")
    assert table.sort_order().order_id == 1
    before = files_below(tmp_path)
    table.update_sort_order().asc("id").commit()
    assert files_below(tmp_path) == before
    table.update_sort_order().commit()
    assert table.sort_order().is_unsorted
    assert table.sort_order().order_id == 0


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda one: one.asc("nowhere"), InvalidSchemaError, "No column 'nowhere'"),
        (lambda one: one.asc("days(id)"), InvalidSchemaError, "column 'id' of type long"),
        (lambda one: one.asc("bucket(4, id)", "day"), InvalidInputError, "transform already"),
        (lambda one: one.asc("id", null_order="middle"), InvalidInputError, "'nulls first' or"),
        (lambda one: one.asc("id as x"), InvalidSchemaError, "has no name"),
        (lambda one: one.asc("s"), InvalidSchemaError, "not primitive"),
    ],
)
def test_what_can_not_be_sorted_by_is_refused(build, error, message: str):  # type: ignore[no-untyped-def]
    table = make(schema="id bigint, s struct<a: int>")
    with pytest.raises(error, match=message):
        build(table.update_sort_order())
