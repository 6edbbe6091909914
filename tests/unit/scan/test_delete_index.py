"""Which delete files apply to which data files (specification: "Scan Planning")."""

import math
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from iceberg_spark.errors import CorruptFileError, ValidationException
from iceberg_spark.scan import delete_index as module
from iceberg_spark.scan.delete_index import DeleteIndex, delete_index
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionSpec
from iceberg_spark.spec.transform_text import parse_partition_spec
from tests.limits import set_limits
from tests.unit.scan.entries import (
    BY_ID,
    COLUMNS,
    bounds,
    counts,
    data,
    equality,
    position,
    table,
    vector,
)

ID, S, X = 1, 2, 3
SPECS: Mapping[int, PartitionSpec] = {
    0: UNPARTITIONED,
    1: PartitionSpec(1, BY_ID.fields),
    2: PartitionSpec(2, parse_partition_spec(["x"], COLUMNS).fields),
}
TYPES = {one: COLUMNS.find_type(one) for one in COLUMNS.field_ids}


def index(*deletes: Mapping[str, Any], spec: int = 0) -> DeleteIndex:
    return delete_index([(spec, table(*deletes, spec=SPECS[spec]))], SPECS, TYPES)


def found(deletes: DeleteIndex, *files: Mapping[str, Any], spec: int = 0) -> list[list[str]]:
    """The names of the delete files that apply to each data file."""
    names = deletes.files.column("file_path").to_pylist() if len(deletes) else []
    lists = deletes.lookup(spec, table(*files, spec=SPECS[spec])).to_pylist()
    return [[names[row] for row in rows] for rows in lists]


def test_no_deletes_apply_where_there_are_none() -> None:
    assert found(delete_index((), SPECS, TYPES), data("a")) == [[]]


def test_position_deletes_apply_to_files_of_the_same_or_an_older_sequence_number() -> None:
    deletes = index(position("p", sequence=2))
    files = (data("old", 1), data("same", 2), data("new", 3))
    assert found(deletes, *files) == [["p"], ["p"], []]


def test_equality_deletes_apply_to_strictly_older_files_only() -> None:
    deletes = index(equality("e", [ID], sequence=2))
    files = (data("old", 1), data("same", 2), data("new", 3))
    assert found(deletes, *files) == [["e"], [], []]


def test_all_younger_deletes_apply_at_once() -> None:
    deletes = index(*(position(f"p{number}", sequence=number) for number in (1, 2, 3, 3)))
    assert found(deletes, data("a", 2)) == [["p2", "p3", "p3"]]


def test_position_deletes_apply_in_their_partition_only() -> None:
    deletes = index(position("p1", partition=[1]), position("p2", partition=[2]), spec=1)
    files = (data("a", partition=[1]), data("b", partition=[2]), data("c", partition=[3]))
    assert found(deletes, *files, spec=1) == [["p1"], ["p2"], []]


def test_deletes_do_not_apply_to_another_spec() -> None:
    deletes = index(position("p", partition=[1]), equality("e", [ID], 2, [1]), spec=1)
    assert found(deletes, data("a", partition=[1.0]), spec=2) == [[]]


def test_equality_deletes_of_a_partition_apply_there_only() -> None:
    deletes = index(equality("e", [S], partition=[1]), spec=1)
    assert found(deletes, data("a", partition=[1]), data("b", partition=[2]), spec=1) == [["e"], []]


def test_equality_deletes_of_an_unpartitioned_spec_are_global() -> None:
    deletes = index(equality("e", [S]))
    assert found(deletes, data("a", partition=[1]), spec=1) == [["e"]]


def test_a_spec_of_void_fields_only_is_unpartitioned() -> None:
    void = parse_partition_spec(["void(id)"], COLUMNS)
    specs = {0: PartitionSpec(0, void.fields), 1: SPECS[1]}
    deletes = delete_index(
        [(0, table(equality("e", [S], partition=[None]), spec=specs[0]))], specs, TYPES
    )
    lists = deletes.lookup(1, table(data("a", partition=[1]), spec=specs[1]))
    assert lists.to_pylist() == [[0]]


def test_position_deletes_of_an_unpartitioned_spec_are_not_global() -> None:
    assert found(index(position("p")), data("a", partition=[1]), spec=1) == [[]]


def test_null_partitions_are_equal() -> None:
    deletes = index(position("p", partition=[None]), spec=1)
    files = (data("a", partition=[None]), data("b", partition=[0]))
    assert found(deletes, *files, spec=1) == [["p"], []]


def test_partitions_compare_floats_by_bits_with_one_nan() -> None:
    deletes = index(
        position("nan", partition=[math.nan]), position("zero", partition=[0.0]), spec=2
    )
    files = [data(str(value), partition=[value]) for value in (math.nan, 0.0, -0.0, None)]
    assert found(deletes, *files, spec=2) == [["nan"], ["zero"], [], []]


def test_a_delete_with_referenced_data_file_applies_to_that_file_only() -> None:
    deletes = index(position("p", referenced_data_file="a"))
    assert found(deletes, data("a"), data("b")) == [["p"], []]


def test_equal_path_bounds_aim_at_one_file() -> None:
    deletes = index(position("p", paths=("a", "a")))
    assert found(deletes, data("a"), data("b")) == [["p"], []]
    assert deletes.delete_files([0])[0].referenced_data_file == "a"


def test_an_aimed_delete_respects_sequence_numbers() -> None:
    deletes = index(position("p", sequence=2, referenced_data_file="a"))
    assert found(deletes, data("a", 3)) == [[]]


def test_path_bounds_that_leave_a_file_out_drop_the_delete() -> None:
    deletes = index(position("p", paths=("b", "d")))
    assert found(deletes, data("a"), data("b"), data("c"), data("e")) == [[], ["p"], ["p"], []]


def test_an_aimed_delete_of_another_partition_is_corrupt_metadata() -> None:
    deletes = index(position("p", partition=[2], referenced_data_file="a"), spec=1)
    with pytest.raises(ValidationException, match=r"p .*refers to data file a"):
        found(deletes, data("a", partition=[1]), spec=1)


def test_an_aimed_delete_of_another_spec_is_corrupt_metadata() -> None:
    deletes = index(position("p", referenced_data_file="a"))
    with pytest.raises(ValidationException, match=r"p \(spec 0\) refers to data file a \(spec 1"):
        found(deletes, data("a", partition=[1]), spec=1)


def test_an_aimed_delete_of_an_older_sequence_number_is_not_checked() -> None:
    deletes = index(position("p", sequence=1, referenced_data_file="a"))
    assert found(deletes, data("a", 2, partition=[1]), spec=1) == [[]]


def test_a_deletion_vector_applies_to_its_data_file_only() -> None:
    deletes = index(vector("a"), vector("b", content_offset=44), position("p", sequence=2))
    assert found(deletes, data("a"), data("c")) == [["v.puffin"], ["p"]]
    assert deletes.delete_files([0, 1])[1].key == ("v.puffin", 44, "b")


@pytest.mark.parametrize("name", ["p", "a"])
def test_a_deletion_vector_supersedes_the_position_deletes_of_its_file(name: str) -> None:
    deletes = index(
        position("p", sequence=9, partition=[1]),
        position("q", sequence=9, partition=[1], referenced_data_file="a"),
        vector("a", sequence=2, partition=[1], path=f"{name}.puffin"),
        equality("e", [ID], sequence=9, partition=[1]),
        spec=1,
    )
    files = (data("a", partition=[1]), data("b", partition=[1]))
    assert found(deletes, *files, spec=1) == [[f"{name}.puffin", "e"], ["p", "e"]]


def test_a_deletion_vector_as_old_as_its_data_file_applies() -> None:
    assert found(index(vector("a", sequence=3)), data("a", 3)) == [["v.puffin"]]


def test_a_deletion_vector_older_than_its_data_file_is_corrupt_metadata() -> None:
    with pytest.raises(ValidationException, match=r"vector of a in v\.puffin .* 2, .* later 3"):
        found(index(vector("a", sequence=2)), data("a", 3))


def test_a_deletion_vector_of_another_partition_is_corrupt_metadata() -> None:
    deletes = index(vector("a", partition=[2]), spec=1)
    with pytest.raises(ValidationException, match=r"v.puffin .*refers to data file a"):
        found(deletes, data("a", partition=[1]), spec=1)


def test_a_deletion_vector_of_another_spec_is_corrupt_metadata() -> None:
    with pytest.raises(ValidationException, match=r"v.puffin \(spec 0\) refers to data file a"):
        found(index(vector("a")), data("a", partition=[1]), spec=1)


def test_two_deletion_vectors_of_a_data_file_are_corrupt_metadata() -> None:
    with pytest.raises(
        ValidationException, match=r"a has 2 deletion vectors.*v\.puffin at byte 4, w\.puffin at"
    ):
        index(vector("a"), vector("b"), vector("a", path="w.puffin"))


@pytest.mark.parametrize(
    "column", ["referenced_data_file", "content_offset", "content_size_in_bytes"]
)
def test_a_deletion_vector_says_where_it_is_and_what_of(column: str) -> None:
    with pytest.raises(CorruptFileError, match=rf"v\.puffin has no {column}"):
        index(vector("a"), vector("b", **{column: None}))


def test_deletes_that_begin_behind_the_last_row_are_dropped() -> None:
    deletes = index(position("p", positions=(10, 12)), position("q", positions=(9, 12)))
    assert found(deletes, data("a", record_count=10)) == [["q"]]


def test_position_bounds_travel_with_the_delete_file() -> None:
    delete = index(position("p", positions=(3, 7))).delete_files([0])[0]
    assert (delete.first_position, delete.last_position) == (3, 7)
    assert [delete.may_delete_rows(0, 3), delete.may_delete_rows(7, 8)] == [False, True]
    assert not delete.may_delete_rows(8, 20)


NO_NULL = counts("null_value_counts", id=0)
ALL_NULL = counts("null_value_counts", id=10) | counts("value_counts", id=10)


def test_equality_deletes_are_dropped_where_bounds_do_not_overlap() -> None:
    deletes = index(equality("e", [ID], **bounds(id=(5, 9)), **NO_NULL))
    files = [
        data(f"{low}-{high}", **bounds(id=(low, high)), **NO_NULL)
        for low, high in ((1, 4), (1, 5), (6, 7), (9, 12), (10, 12))
    ]
    assert found(deletes, *files) == [[], ["e"], ["e"], ["e"], []]


@pytest.mark.parametrize(
    ("here", "there", "applies"),
    [
        pytest.param(bounds(id=(1, 4)), bounds(id=(5, 9)), True, id="nulls unknown in both"),
        pytest.param(bounds(id=(1, 4)) | NO_NULL, bounds(id=(5, 9)), False, id="none here"),
        pytest.param(bounds(id=(1, 4)), bounds(id=(5, 9)) | NO_NULL, False, id="none there"),
        pytest.param(ALL_NULL, NO_NULL, False, id="only nulls here, none deleted"),
        pytest.param(NO_NULL, ALL_NULL, False, id="only nulls deleted, none here"),
        pytest.param(ALL_NULL, ALL_NULL, True, id="nulls in both"),
        pytest.param({}, {}, True, id="nothing known"),
        pytest.param(NO_NULL, bounds(id=(5, 9)) | NO_NULL, True, id="no bounds here"),
    ],
)
def test_equality_deletes_are_dropped_by_nulls_and_bounds(
    here: dict[str, Any], there: dict[str, Any], applies: bool
) -> None:
    deletes = index(equality("e", [ID], **there))
    assert found(deletes, data("a", **here)) == [["e"] if applies else []]


def test_bounds_say_nothing_about_nan_that_both_may_have() -> None:
    apart = counts("null_value_counts", x=0)
    some = counts("nan_value_counts", x=1)
    none = counts("nan_value_counts", x=0)
    deletes = index(equality("e", [X], **bounds(x=(5.0, 9.0)), **apart, **some))
    files = [
        data("nan", **bounds(x=(1.0, 2.0)), **some),
        data("none", **bounds(x=(1.0, 2.0)), **none),
    ]
    assert found(deletes, *files) == [["e"], []]


def test_string_bounds_compare_by_bytes() -> None:
    deletes = index(equality("e", [S], **bounds(s=("b", "d")), **counts("null_value_counts", s=0)))
    files = [data(text, **bounds(s=(text, text))) for text in ("a", "b", "c", "e", "é")]
    assert found(deletes, *files) == [[], ["e"], ["e"], [], []]


def test_any_equality_column_that_can_not_match_drops_the_delete() -> None:
    known = {
        "lower_bounds": bounds(id=(5, 9), s=("b", "c"))["lower_bounds"],
        "upper_bounds": bounds(id=(5, 9), s=("b", "c"))["upper_bounds"],
        **counts("null_value_counts", id=0, s=0),
    }
    deletes = index(equality("e", [ID, S], **known))
    both = data("both", **bounds(id=(5, 5), s=("b", "b")))
    one = data("one", **bounds(id=(5, 5), s=("x", "x")))
    assert found(deletes, both, one) == [["e"], []]


def test_statistics_of_other_columns_of_an_equality_delete_do_not_count() -> None:
    deletes = index(equality("e", [S], **bounds(id=(5, 9)), **NO_NULL))
    assert found(deletes, data("a", **bounds(id=(1, 2)), **NO_NULL)) == [["e"]]


def test_uuid_bounds_are_not_compared() -> None:
    low, high = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
    known = counts("null_value_counts", u=0)
    deletes = index(equality("e", [4], **bounds(u=(UUID(high), UUID(high))), **known))
    assert found(deletes, data("a", **bounds(u=(UUID(low), UUID(low))), **known)) == [["e"]]


def test_candidates_come_in_blocks_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    deletes = index(*(equality(f"e{number}", [ID], number + 2) for number in range(7)))
    files = [data(f"f{number}", number + 1) for number in range(9)]
    whole = found(deletes, *files)
    set_limits(monkeypatch, module, "PLANNING", pairs_at_once=5)
    assert found(deletes, *files) == whole
    assert [len(names) for names in whole] == [7, 6, 5, 4, 3, 2, 1, 0, 0]


def test_lookup_takes_columns_of_several_chunks() -> None:
    deletes = index(position("p", sequence=2))
    files = pa.concat_tables([table(data("a", 1)), table(data("b", 3))])
    assert deletes.lookup(0, files).to_pylist() == [[0], []]
