"""Equal columns of joins are followed to the relations that have them, and no further."""

from typing import Any, cast

import pytest
from pyspark.sql import DataFrame

from iceberg_spark.spark.session import plan_joins
from iceberg_spark.spark.session.plan_joins import joined_columns

Said = dict[str, Any]


def attribute(number: int) -> Said:
    name = f"c{number}"
    return {
        "class": "a.AttributeReference", "num-children": 0, "name": name, "dataType": "integer",
        "exprId": {"id": number},
    }  # fmt: skip


def relation(*numbers: int) -> list[Said]:
    output = [[attribute(number)] for number in numbers]
    return [{"class": "a.LogicalRelation", "num-children": 0, "output": output}]


def node(kind: str, *children: list[Said], **said: Any) -> list[Said]:
    own = {"class": f"a.{kind}", "num-children": len(children), **said}
    return [own, *(one for child in children for one in child)]


def join(left: list[Said], right: list[Said], one: int, other: int, kind: str = "Inner") -> Any:
    equal = {"class": "a.EqualTo", "num-children": 2}
    condition = [equal, attribute(one), attribute(other)]
    return node("Join", left, right, joinType={"object": f"a.{kind}$"}, condition=condition)


def pairs(monkeypatch: pytest.MonkeyPatch, said: list[Said]) -> set[tuple[str, str]]:
    leaves = sum(one["num-children"] == 0 for one in said)
    marks = [str(number) for number in range(leaves)]
    monkeypatch.setattr(plan_joins, "optimized_plan", lambda *_, **__: (marks, said))
    found = joined_columns(cast("DataFrame", None), "", most=64)
    return {(one.column.name, one.key.name) for one in found}


def test_both_sides_of_an_inner_join_need_each_others_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = join(relation(1), relation(2), 1, 2)
    assert pairs(monkeypatch, said) == {("c1", "c2"), ("c2", "c1")}


def test_a_pair_is_lost_at_a_limit_and_does_not_come_back_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limited = node("GlobalLimit", relation(3))
    inner = join(relation(1), limited, 2, 4)
    assert ("c3", "c5") not in pairs(monkeypatch, join(inner, relation(5), 3, 5))
    below = join(relation(1), node("Filter", relation(3)), 2, 4)
    assert ("c3", "c5") in pairs(monkeypatch, join(below, relation(5), 3, 5))


def test_a_union_beside_a_relation_has_more_values_than_its_first_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    union = node("Union", relation(3), relation(4))
    side = join(relation(1), union, 1, 3)
    found = pairs(monkeypatch, join(relation(5), side, 5, 3))
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
    monkeypatch: pytest.MonkeyPatch, kind: str, wanted: set[tuple[str, str]]
) -> None:
    assert pairs(monkeypatch, join(relation(1), relation(2), 1, 2, kind)) == wanted
