"""The optimizer rule that prunes files: its installation, and its requests as Python values.

`FilePruning.java` next to this module is the rule. It runs inside Spark's optimizer, where filters
and projections have been pushed down to the relations, and calls Python once for each plan.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from iceberg_spark.spark.session.classic_session import is_connect
from iceberg_spark.spark.session.compiled_java import compiled_object

_log = logging.getLogger(__name__)
_CLASS = "FilePruning"
_TIMEOUT_MS = 60_000
"""How long a plan waits for Python: a first plan of 1,000,000 files takes 9 s."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A Spark expression: the name of its class, its children, and its JSON."""

    kind: str
    parts: tuple[Expression, ...]
    node: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScannedRelation:
    """A relation in an optimized plan.

    `number` is its number in the request. `leaf_index` is its number among the leaves of the plan,
    -1 in a subquery. `columns` are the names of the columns that the plan uses, None for all. All
    of `filters` hold for each row that the plan uses.
    """

    number: int
    leaf_index: int
    mark: str
    columns: frozenset[str] | None
    filters: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """`count`, `min` or `max`; `columns` are its column in each relation, None for `count(*)`."""

    name: str
    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class ScannedAggregate:
    """An aggregate of the rows of some relations that their filters select.

    `groups` are the columns that it groups by, each by its name in each relation.
    """

    number: int
    relations: tuple[int, ...]
    groups: tuple[tuple[str, ...], ...]
    functions: tuple[AggregateFunction, ...]


@dataclass(frozen=True, slots=True)
class ScannedPlan:
    """The relations of a plan, and the aggregates that metadata may answer."""

    relations: tuple[ScannedRelation, ...]
    aggregates: tuple[ScannedAggregate, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PrunedRelation:
    """The files of a relation to read, as a mask (None: all), and the bytes of the used columns."""

    number: int
    used_bytes: int
    mask: npt.NDArray[np.bool_] | None


Value: TypeAlias = int | Decimal | bool | str | None

Choose: TypeAlias = Callable[[SparkSession, ScannedPlan, Any], None]
"""Prunes the relations of a plan, which is Java's `PlanQuery`."""


@dataclass(slots=True)
class PruningStatus:
    """The number of pruned and failed plans, and why the last one failed."""

    pruned_plans: int = 0
    failed_plans: int = 0
    last_failure: str | None = None


STATUS = PruningStatus()
_installed: WeakKeyDictionary[SparkSession, Any] = WeakKeyDictionary()
_lock = threading.Lock()


def install_file_pruning(session: SparkSession, choose: Choose, option: str) -> bool:
    """Add the rule to a session's optimizer, once; return whether it is there.

    Args:
        session: a classic session; over Connect there is no optimizer to reach.
        choose: returns the relations of a plan that need fewer files, or report another size.
        option: the option of a relation whose value is its mark.
    """
    if is_connect(session):
        return False
    java = compiled_object(session, _CLASS, __package__)
    if java is None:
        return False
    if _installed.get(session) is java:
        return True  # of these very classes: those that are compiled again know other relations
    inside: Any = session
    try:
        ensure_callback_server_started(inside.sparkContext._gateway)  # type: ignore[no-untyped-call]
        java.install(inside._jsparkSession, _Callback(session, choose), option, _TIMEOUT_MS)
        STATUS.last_failure = None
    except Exception as error:  # noqa: BLE001 - no callback server, another Spark's classes, ...
        _fail(error)
        return False
    with _lock:
        _installed[session] = java
    return True


def prune_files(query: Any, relations: Iterable[PrunedRelation]) -> None:
    """Remove files from relations of a plan; `query` is Java's `PlanQuery`."""
    changes = "\n".join(map(_change, relations))
    if changes:
        query.prune(changes)


def pruning_failure(session: SparkSession) -> str | None:
    """Return why plans of a session are not pruned in the optimizer, None if they are."""
    if is_connect(session):
        return "over Spark Connect, queries are pruned by their text"
    if session not in _installed:
        return STATUS.last_failure or f"the rule does not compile for Spark {session.version}"
    return STATUS.last_failure


def answer_aggregate(query: Any, number: int, rows: Sequence[Sequence[Value]]) -> None:
    """Answer an aggregate of a plan with a row for each group: its columns, then its functions.

    Dates are days, timestamps are microseconds.
    """
    texts = [[_text(value) for value in row] for row in rows]
    query.answer(number, json.dumps(texts))


def _text(value: Value) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


class _Callback:
    """The function that Java calls with the relations of a plan as JSON, and the plan."""

    def __init__(self, session: SparkSession, choose: Choose) -> None:
        self._session, self._choose = session, choose

    def apply(self, request: str, query: Any) -> bool:
        """Prune a plan; return False after an error, so that Java keeps the plan unchanged."""
        try:
            self._choose(self._session, parse_request(request), query)
        except Exception as error:  # noqa: BLE001 - a query never fails because of its pruning
            _fail(error)
            return False
        STATUS.pruned_plans += 1
        STATUS.last_failure = None
        return True

    class Java:
        """The interface of Java that the class implements."""

        implements: ClassVar = ["java.util.function.BiFunction"]


def parse_request(request: str) -> ScannedPlan:
    """Parse a request of the rule."""
    plan = json.loads(request)
    relations = (
        ScannedRelation(
            number=relation["number"],
            leaf_index=relation["leaf"],
            mark=relation["mark"],
            columns=None if relation["columns"] is None else frozenset(relation["columns"]),
            filters=tuple(map(parse_expression, relation["filters"])),
        )
        for relation in plan["relations"]
    )
    aggregates = (
        ScannedAggregate(
            aggregate["number"],
            tuple(aggregate["relations"]),
            tuple(map(tuple, aggregate["groups"])),
            tuple(map(_function, aggregate["functions"])),
        )
        for aggregate in plan["aggregates"]
    )
    return ScannedPlan(tuple(relations), tuple(aggregates))


def _function(node: Mapping[str, Any]) -> AggregateFunction:
    columns = node["columns"]
    return AggregateFunction(node["name"], None if columns is None else tuple(columns))


def parse_expression(node: Mapping[str, Any]) -> Expression:
    """Parse a Spark expression that `PlanJson` has described."""
    return Expression(node["kind"], tuple(map(parse_expression, node["children"])), node)


def _change(relation: PrunedRelation) -> str:
    files = "*"
    if relation.mask is not None:
        bits = np.packbits(relation.mask, bitorder="little")
        files = base64.b64encode(bits.tobytes()).decode()
    return f"{relation.number} {relation.used_bytes} {files}"


def _fail(error: Exception) -> None:
    level = logging.DEBUG if STATUS.failed_plans else logging.INFO
    _log.log(level, "A query reads all files of its tables", exc_info=error)
    STATUS.failed_plans += 1
    STATUS.last_failure = f"{type(error).__name__}: {error}"
