"""Equal columns of joins are followed to the relations that have them, and no further."""

from typing import Any

import pytest

from iceberg_spark.spark.catalyst.plan_joins import joined_columns, tree_of

Json = dict[str, Any]


def relation(*numbers: int) -> Json:
    columns = [{"id": number, "name": f"c{number}", "type": "integer"} for number in numbers]
    return node("LogicalRelation", columns=columns)


def node(kind: str, *children: Json, **fields: Any) -> Json:
    return {"kind": kind, "children": list(children), **fields}


def join(left: Json, right: Json, one: int, other: int, kind: str = "Inner") -> Json:
    return node("Join", left, right, join_type=f"{kind}$", equalities=[[one, other]])


def pairs(said: Json) -> set[tuple[str, str]]:
    return {(one.column.name, one.key.name) for one in joined_columns(tree_of(said))}


def test_both_sides_of_an_inner_join_need_each_others_values() -> None:
    said = join(relation(1), relation(2), 1, 2)
    assert pairs(said) == {("c1", "c2"), ("c2", "c1")}


def test_a_pair_is_lost_at_a_limit_and_does_not_come_back_beside_it() -> None:
    limited = node("GlobalLimit", relation(3))
    inner = join(relation(1), limited, 2, 4)
    assert ("c3", "c5") not in pairs(join(inner, relation(5), 3, 5))
    below = join(relation(1), node("Filter", relation(3)), 2, 4)
    assert ("c3", "c5") in pairs(join(below, relation(5), 3, 5))


def test_a_union_beside_a_relation_has_more_values_than_its_first_child() -> None:
    union = node("Union", relation(3), relation(4))
    side = join(relation(1), union, 1, 3)
    found = pairs(join(relation(5), side, 5, 3))
    assert ("c5", "c3") not in found and ("c1", "c3") not in found


@pytest.mark.parametrize(
    ("kind", "wanted"),
    {
        "LeftOuter": {("c2", "c1")},
        "RightOuter": {("c1", "c2")},
        "LeftAnti": {("c2", "c1")},
        "FullOuter": set(),
        "LeftSemi": {("c1", "c2"), ("c2", "c1")},
    }.items(),
)
def test_a_side_whose_rows_stay_without_a_match_is_whole(
    kind: str, wanted: set[tuple[str, str]]
) -> None:
    assert pairs(join(relation(1), relation(2), 1, 2, kind)) == wanted


def test_a_key_is_of_every_relation_that_has_all_of_its_values() -> None:
    side = join(relation(1), relation(2), 1, 2)
    assert {("c3", "c1"), ("c3", "c2")} <= pairs(join(relation(3), side, 3, 2))


def test_an_outer_join_s_side_has_values_that_the_other_has_not() -> None:
    side = join(relation(1), relation(2), 1, 2, "LeftOuter")
    found = pairs(join(relation(3), side, 3, 1))
    assert ("c3", "c1") in found and ("c3", "c2") not in found


def test_a_semi_join_tells_values_of_its_right_side_by_its_condition_alone() -> None:
    side = join(relation(1), relation(1, 2), 1, 2, "LeftSemi")
    keys = [one.key for one in joined_columns(tree_of(join(relation(3), side, 3, 1)))]
    assert {(one.leaf_index, one.name) for one in keys} == {(0, "c3"), (1, "c1"), (2, "c2")}


def at_once(said: Json, *small: int) -> dict[tuple[str, str], bool]:
    """Return which pairs meet at once, where Spark broadcasts some leaves by their places."""
    found = joined_columns(tree_of(said), lambda node: node.leaf_index in small)
    return {(one.column.name, one.key.name): one.at_once for one in found}


def test_rows_meet_what_is_broadcast_at_once() -> None:
    said = join(node("Filter", relation(1)), relation(2), 1, 2)
    assert at_once(said, 1) == {("c1", "c2"): True, ("c2", "c1"): False}
    assert at_once(said) == {("c1", "c2"): False, ("c2", "c1"): False}


def test_rows_that_are_shuffled_or_counted_before_meet_later() -> None:
    shuffled = join(relation(1, 3), relation(2), 1, 2)
    assert not at_once(join(shuffled, relation(4), 3, 4), 2)["c3", "c4"]
    assert at_once(join(shuffled, relation(4), 3, 4), 1, 2)["c3", "c4"]
    counted = node(
        "Aggregate",
        relation(1),
        grouped=[1],
        passed=[[1, 1]],
    )
    assert not at_once(join(counted, relation(4), 1, 4), 1)["c1", "c4"]


def built(said: Json, *small: int) -> set[tuple[str, str]]:
    """Return pairs whose own rows Spark broadcasts."""
    found = joined_columns(tree_of(said), lambda node: node.leaf_index in small)
    return {(one.column.name, one.key.name) for one in found if one.is_built}


def test_rows_that_are_broadcast_themselves_are_told() -> None:
    said = join(relation(1), relation(2, 3), 1, 2)
    assert built(said, 1) == {("c2", "c1")}
    assert built(said) == set()
    above = join(said, relation(4), 3, 4)
    assert ("c3", "c4") in built(above, 1) and ("c3", "c4") not in built(above, 2)


@pytest.mark.parametrize("kind", ["LeftSemi", "LeftOuter", "LeftAnti"])
def test_spark_broadcasts_no_side_whose_rows_are_to_stay(kind: str) -> None:
    said = join(relation(1), relation(2), 1, 2, kind)
    assert not at_once(said, 0)["c2", "c1"]


def test_a_pair_is_lost_above_a_node_that_is_not_deterministic() -> None:
    random = node("Filter", relation(1), deterministic=False)
    found = joined_columns(tree_of(join(random, relation(2), 1, 2)))
    assert [(one.column.name, one.key.name) for one in found] == [("c2", "c1")]
