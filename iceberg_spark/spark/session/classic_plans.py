"""Plans of classic frames: which relations they scan with which filters, and others in their place.

Everything here asks Java for what Spark's own optimizer found. Over Connect nothing is told.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.spark.session.classic_session import (
    frame_of_plan,
    java_list,
    java_static,
)
from iceberg_spark.spark.session.compiled_java import compiled_object
from iceberg_spark.spark.session.long_texts import java_json

PLAN_ERRORS = (Py4JError, PySparkException, LookupError, ValueError)
"""What asking Java for plans raises where they are not what is expected here."""


_LEAVES = "PlanLeaves"
_SAME = "SamePlans"
_SCAN = "FileSourceScanExec"
_CACHED = "InMemoryTableScanExec"
_FILES = "HadoopFsRelation"
_BETWEEN = "\x01"
_PATTERNS = "org.apache.spark.sql.catalyst.trees.TreePattern"
_ATTRIBUTE = re.compile(r"#(\d+)L?$")


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """An expression of Spark's: its class without packages, what it says of itself, its parts.

    `java` and `place` are the whole that it is part of, and its number in that.
    """

    kind: str
    said: Mapping[str, Any]
    parts: tuple[Expression, ...]
    java: Any
    place: int

    @property
    def attributes(self) -> Iterator[int]:
        """The ids of the attributes in it."""
        if self.kind == "AttributeReference":
            yield int(self.said["exprId"]["id"])
        for part in self.parts:
            yield from part.attributes

    @property
    def conjuncts(self) -> Iterator[Expression]:
        """What it asks to hold all: itself, if it is no AND."""
        if self.kind != "And":
            yield self
            return
        for part in self.parts:
            yield from part.conjuncts

    def own(self) -> Any:
        """Return Java's own expression, one round trip."""
        return self.java.apply(self.place)


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A relation that a frame's plan has, maybe several times, by the option that marks it.

    `places` are its numbers among the leaves of the analysed plan and its subqueries; it has none
    in subqueries where the optimizer doesn't make joins of all of them.
    `filters` are those of each of its scans, as the optimizer pushed them down: a row that some
    filter of a scan is not true for is in nothing that comes of that scan.
    """

    mark: str
    places: tuple[int, ...]
    filters: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    place: int
    mark: str
    java: Any


@dataclass(frozen=True, slots=True, eq=False)
class _Scan:
    mark: str
    attributes: frozenset[int]
    filters: tuple[Expression, ...]


def filtered_relations(
    frame: DataFrame,
    option: str,
    *,
    most: int,
    wanted: Callable[[Sequence[str]], Container[str]],
) -> list[Relation]:
    """Return relations with the filters of their scans, those of marks that are `wanted` of all.

    The option's value is the mark. None where part of the plan is cached, or has another value at
    another time (`current_date`), where it has more than `most` leaves, and over Connect. Raises
    one of PLAN_ERRORS.
    """
    inside = getattr(frame, "_jdf", None)
    if inside is None:
        return []
    session, asked = frame.sparkSession, inside.queryExecution()
    analyzed = asked.analyzed()
    marks = _marks(session, analyzed, option, most)
    if not any(marks) or analyzed.isStreaming():
        return []
    java: Any = compiled_object(session, _LEAVES)
    leaves = java.leaves(analyzed)
    every = [_Leaf(place, mark, leaves.get(place)) for place, mark in enumerate(marks) if mark]
    chosen = wanted([one.mark for one in every])
    outside = analyzed.collectLeaves().size()
    if len(marks) > outside and (left := _left_in_subqueries(session, asked, option, most)):
        every = [one for one in every if one.place < outside]
        if analyzed.containsPattern(java_static(session, _PATTERNS, "CTE")()):
            every = [one for one in every if one.mark not in left]
    marked = [one for one in every if one.mark in chosen]
    if not marked or analyzed.containsPattern(java_static(session, _PATTERNS, "CURRENT_LIKE")()):
        return []
    return _relations(marked, _scans(session, asked.sparkPlan(), option, most, chosen))


def _left_in_subqueries(
    session: SparkSession, asked: Any, option: str, most: int
) -> frozenset[str | None]:
    """Return the marks of relations that the optimizer left in subqueries, not among the scans.

    A common table expression that is named outside and there is a relation of both. Raises
    ValueError where there are too many leaves.
    """
    optimized = asked.optimizedPlan()
    marks = _marks(session, optimized, option, most)
    if not marks:
        raise ValueError("a plan of too many leaves")
    return frozenset(marks[optimized.collectLeaves().size() :]) - {None}


def _relations(marked: Sequence[_Leaf], scans: Sequence[_Scan]) -> list[Relation]:
    """Return the relations of leaves with their marks, and those that are in scans alone."""
    times = Counter(one.mark for one in marked)
    own: dict[tuple[str, frozenset[int]], list[int]] = {}
    for one in marked:
        attributes = _outputs(one.java) if times[one.mark] > 1 else frozenset[int]()
        own.setdefault((one.mark, attributes), []).append(one.place)
    found = []
    for (mark, attributes), occurrences in own.items():
        others = [each for name, each in own if name == mark]
        filters = _filters(attributes, others, [scan for scan in scans if scan.mark == mark])
        if filters is not None and len(filters) >= len(occurrences):
            found.append(Relation(mark, tuple(occurrences), filters))
    inner = {scan.mark for scan in scans} - times.keys()
    return found + [
        Relation(mark, (), tuple(scan.filters for scan in scans if scan.mark == mark))
        for mark in inner
    ]


def plan_marks(frame: DataFrame, option: str, *, most: int) -> tuple[str | None, ...]:
    """Return the marks of the leaves of the analysed plan and its subqueries.

    Nothing over Connect, and of long plans.

    Raises one of PLAN_ERRORS.
    """
    inside = getattr(frame, "_jdf", None)
    if inside is None:
        return ()
    return _marks(frame.sparkSession, inside.logicalPlan(), option, most)


def asked_apart(frame: DataFrame) -> DataFrame:
    """Return a frame of a classic frame's plan, to be asked what the optimizer makes of that.

    A frame looks for rows that Spark keeps when it is planned first: `cache()` may come before.
    """
    inside: Any = frame
    return frame_of_plan(frame.sparkSession, inside._jdf.logicalPlan())


def holds_rows(frame: DataFrame, most: int) -> bool:
    """Return whether a classic frame's plan may hold rows itself, of which there may be many."""
    inside: Any = frame
    for leaf in _leaves(inside._jdf.queryExecution().analyzed(), most):
        match _class_name(leaf):
            case "LogicalRelation" | "OneRowRelation" | "Range" | "CTERelationRef":
                continue
            case "LocalRelation" if leaf.data().isEmpty():
                continue
            case _:
                return True
    return False


def comparable_plan(frame: DataFrame) -> Any | None:
    """Return the analysed plan of a classic frame, which is Java's, to be compared with others.

    None where Spark keeps rows of frames, of which plans say nothing. Raises one of PLAN_ERRORS.
    """
    java = compiled_object(frame.sparkSession, _SAME)
    inside: Any = frame
    return None if java is None else java.comparable(inside._jdf)


def is_same_plan(session: SparkSession, one: Any, other: Any) -> bool:
    """Return whether two plans are the same, part by part, but for the ids of their columns."""
    java: Any = compiled_object(session, _SAME)
    return bool(java.same(one, other))


def with_relations(frame: DataFrame, made: Iterable[tuple[int, DataFrame]]) -> DataFrame:
    """Return the frame with other files below some of its relations; attributes stay as they are.

    `made` has numbers of leaves of its analysed plan with frames, which are relations of the same
    columns. Raises as above.
    """
    session = frame.sparkSession
    java: Any = compiled_object(session, _LEAVES)
    places, others = zip(*made, strict=True)
    plans = [one._jdf.logicalPlan() for one in others]
    lists = [java_list(session, values) for values in (places, plans)]
    inside: Any = frame
    return frame_of_plan(session, java.replaced(inside._jdf.logicalPlan(), *lists))


def micros_of(literal: Expression) -> int:
    """Return the microseconds of a literal that is a timestamp, one round trip."""
    return int(literal.own().value())


def texts_in_set(of: Expression) -> list[str]:
    """Return the values of an `InSet`, each as Java shows it; none where that can't be told."""
    values = of.own().hset()
    found = str(values.mkString(_BETWEEN)).split(_BETWEEN)
    return found if len(found) == values.size() else []


def _leaves(plan: Any, most: int) -> list[Any]:
    found = plan.collectLeaves()
    count = found.size()
    return [found.apply(place) for place in range(count)] if count <= most else []


def _scans(
    session: SparkSession, plan: Any, option: str, most: int, wanted: Container[str]
) -> list[_Scan]:
    """Return the scans of relations with marks; none where something is cached, or there are many.

    Filters with subqueries are left out: the rows of these may be the words of a bitmap.
    """
    subquery = java_static(session, _PATTERNS, "PLAN_EXPRESSION")()
    found = []
    for leaf in _leaves(plan, most):
        name = _class_name(leaf)
        if name == _CACHED:
            return []
        mark = _scan_mark(leaf, name, option)
        if mark is None or mark not in wanted:
            continue
        given = leaf.dataFilters()
        every = [given.apply(at) for at in range(given.size())]
        plain = [one for one in every if not one.containsPattern(subquery)]
        filters = tuple(expression_of(session, one) for one in plain)
        shown = leaf.output()
        attributes = {one for each in filters for one in each.attributes}
        if shown.size():
            attributes |= {*expression_of(session, shown.apply(0)).attributes}
        found.append(_Scan(mark, frozenset(attributes), filters))
    return found


def _filters(
    attributes: frozenset[int], others: list[frozenset[int]], scans: list[_Scan]
) -> tuple[tuple[Expression, ...], ...] | None:
    """Return the filters of a relation's scans; None where one may be another's.

    `others` are the attributes of all relations with the mark of these scans: each has its own.
    Where all are the same, so are the scans, though Spark gives columns of variants new ids where
    it reads only fields of them.
    """
    if len(others) == 1:
        return tuple(one.filters for one in scans)
    if any(not any(one.attributes & known for known in others) for one in scans):
        return None
    return tuple(one.filters for one in scans if one.attributes & attributes)


def _marks(session: SparkSession, plan: Any, option: str, most: int) -> tuple[str | None, ...]:
    """Return the marks of the leaves of a logical plan and its subqueries; of many nothing."""
    java = compiled_object(session, _LEAVES)
    said = [] if java is None else str(java.marks(plan, option)).split("\n")[:-1]
    return tuple(mark or None for mark in said) if len(said) <= most else ()


def _scan_mark(leaf: Any, name: str, option: str) -> str | None:
    """Return the mark of a scan, a leaf of a physical plan of the class `name`."""
    if name != _SCAN:
        return None
    relation = leaf.relation()
    if _class_name(relation) != _FILES:
        return None
    options = str(relation.options().toString())
    found = re.search(rf"(?:\(|, ){re.escape(option)} -> ([0-9a-f]+)(?:,|\))", options)
    return found.group(1) if found else None


def _outputs(leaf: Any) -> frozenset[int]:
    """Return the ids of a relation's columns, which Java writes as `name#12` and `name#12L`."""
    said = str(leaf.output().mkString(_BETWEEN)).split(_BETWEEN)
    found = [_ATTRIBUTE.search(one) for one in said]
    if not all(found):
        raise ValueError("a column without an id")
    return frozenset(int(one.group(1)) for one in found if one)


def _class_name(of: Any) -> str:
    return str(of.getClass().getSimpleName())


def expression_of(session: SparkSession, java: Any) -> Expression:
    """Return an expression of Java's with what it says of itself, one round trip for 8 KiB."""
    said: list[dict[str, Any]] = json.loads(java_json(session, java))
    place = -1

    def read() -> Expression:
        nonlocal place
        place += 1
        own = place
        parts = tuple(read() for _ in range(int(said[own]["num-children"])))
        return Expression(said[own]["class"].rpartition(".")[2], said[own], parts, java, own)

    return read()
