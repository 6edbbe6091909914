"""UPDATE and MERGE as values: what they mean for rows of the model, and how they are written.

Columns are named as their kinds are (`verb_model`); the target is `t`, the source `s`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from hypothesis import strategies as st

from tests.verb_expressions import Expr, ValueOf, predicates_of
from tests.verb_model import Given, Row, Rows, View
from tests.verb_strategies import rows as given_rows

Computed = Callable[[ValueOf], Any]


class MatchedTwiceError(Exception):
    """More than one row of the source matches a row of the target."""


@dataclass(frozen=True)
class Set:
    """One assignment; `{t}` in the text is the target's alias with its dot."""

    column: str
    text: str
    value: Computed

    def __repr__(self) -> str:
        return f"{self.column} = {self.text}"

    def sql(self, alias: str) -> str:
        return self.text.format(t=alias)


@dataclass(frozen=True)
class Update:
    sets: tuple[Set, ...]
    where: Expr


@dataclass(frozen=True)
class Condition:
    """A predicate of the target (`t`) or of the source (`s`)."""

    side: str
    inner: Expr

    @property
    def text(self) -> str:
        return self.inner.text(lambda kind: f"{self.side}.{kind}")

    def holds(self, target: ValueOf, source: ValueOf) -> bool:
        return self.inner.value(target if self.side == "t" else source) is True


@dataclass(frozen=True)
class Clause:
    """`does` is update, update all, delete, insert or insert all."""

    kind: str
    does: str
    condition: Condition | None = None
    sets: tuple[Set, ...] = ()

    def __repr__(self) -> str:
        return self.sql

    @property
    def sql(self) -> str:
        when = {"matched": "MATCHED", "insert": "NOT MATCHED", "by source": "NOT MATCHED BY SOURCE"}
        also = f" AND {self.condition.text}" if self.condition else ""
        values = [(each.column, each.sql("t.")) for each in self.sets]
        listed = ", ".join(f"t.{name} = {text}" for name, text in values)
        names, texts = (", ".join(pair[at] for pair in values) for at in (0, 1))
        does = {
            "update": f"UPDATE SET {listed}",
            "update all": "UPDATE SET *",
            "delete": "DELETE",
            "insert": f"INSERT ({names}) VALUES ({texts})",
            "insert all": "INSERT *",
        }
        return f"WHEN {when[self.kind]}{also} THEN {does[self.does]}"


@dataclass(frozen=True)
class On:
    text: str
    holds: Callable[[ValueOf], bool]

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Merge:
    rows: tuple[Given, ...]
    on: On
    clauses: tuple[Clause, ...]

    @property
    def checks(self) -> bool:
        """Whether a target row may match one source row only (SQL; Spark's MergeRows)."""
        matched = [clause for clause in self.clauses if clause.kind == "matched"]
        only_deletes = [(each.does, each.condition) for each in matched] == [("delete", None)]
        return bool(matched) and not only_deletes


@dataclass
class Counts:
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


def updated(change: Update, rows: Rows, view: View) -> Rows:
    """The rows after an update."""
    matches = view.matching(change.where)
    return [_set(change.sets, row, row, view) if matches(row) else row for row in rows]


def merged(change: Merge, rows: Rows, view: View) -> tuple[Rows, Counts]:
    """The rows after a merge, and how many rows it inserted, updated and deleted."""
    counts, after = Counts(), []
    sources = [view.row(given) for given in change.rows]
    unmatched = [True] * len(sources)
    for row in rows:
        of = view.values(row)
        found = [
            at for at, each in enumerate(sources) if change.on.holds(_pair(of, view.values(each)))
        ]
        if len(found) > 1 and change.checks:
            raise MatchedTwiceError
        for at in found:
            unmatched[at] = False
        source = sources[found[0]] if found else row
        clause = _first(change.clauses, "matched" if found else "by source", of, source, view)
        if clause is None:
            after.append(row)
        elif clause.does == "delete":
            counts.deleted += 1
        else:
            counts.updated += 1
            everything = clause.does == "update all"
            after.append(source if everything else _set(clause.sets, row, source, view))
    for source in (each for each, alone in zip(sources, unmatched, strict=True) if alone):
        clause = _first(change.clauses, "insert", view.values(source), source, view)
        if clause is not None:
            counts.inserted += 1
            everything = clause.does == "insert all"
            after.append(source if everything else _set(clause.sets, view.row({}), source, view))
    return after, counts


def _pair(target: ValueOf, source: ValueOf) -> ValueOf:
    """Values of `t.name` and `s.name`."""
    return lambda name: (target if name[0] == "t" else source)(name[2:])


def _first(
    clauses: Iterable[Clause], kind: str, target: ValueOf, source: Row, view: View
) -> Clause | None:
    for clause in clauses:
        if clause.kind == kind and (
            clause.condition is None or clause.condition.holds(target, view.values(source))
        ):
            return clause
    return None


def _set(sets: tuple[Set, ...], row: Row, source: Row, view: View) -> Row:
    of = _pair(view.values(row), view.values(source))
    new = {view.columns[each.column][0]: each.value(of) for each in sets}
    return {**row, **new}


# ---------------------------------------------------------------------------------- strategies


def _nullable(compute: Callable[..., Any]) -> Callable[..., Any]:
    """SQL's functions: null where an argument is null."""
    return lambda *values: None if None in values else compute(*values)


_plus, _joined = _nullable(lambda a, b: a + b), _nullable(lambda a, b: f"{a}{b}")
DAY = date(2024, 3, 1)
OF_TARGET = (
    Set("v", "{t}v + 1", lambda of: _plus(of("t.v"), 1)),
    Set("v", "null", lambda _: None),
    Set("g", "concat({t}g, '!')", lambda of: _joined(of("t.g"), "!")),
    Set("g", "'b'", lambda _: "b"),
    Set("id", "{t}id + 100", lambda of: _plus(of("t.id"), 100)),
    Set("d", f"date '{DAY}'", lambda _: DAY),
    Set("s", "named_struct('k', {t}v, 't', 'x')", lambda of: (of("t.v"), "x")),
)
OF_SOURCE = (
    Set("id", "s.id", lambda of: of("s.id")),
    Set("g", "concat(s.g, '+')", lambda of: _joined(of("s.g"), "+")),
    Set("v", "s.v", lambda of: of("s.v")),
    Set("d", "s.d", lambda of: of("s.d")),
    Set("s", "s.s", lambda of: of("s.s")),
)
OF_BOTH = (Set("v", "{t}v + s.v", lambda of: _plus(of("t.v"), of("s.v"))),)


def _equal(*names: str) -> Callable[[ValueOf], bool]:
    """SQL's = of the columns `t.name` and `s.other`, given as "name=other"."""
    pairs = [each.split("=") for each in names]

    def holds(of: ValueOf) -> bool:
        found = [(of(f"t.{left}"), of(f"s.{right}")) for left, right in pairs]
        return all(left is not None and left == right for left, right in found)

    return holds


JOINS = (
    On("t.id = s.id", _equal("id=id")),
    On("t.id <=> s.id", lambda of: of("t.id") == of("s.id")),
    On("t.id = s.id and t.g = s.g", _equal("id=id", "g=g")),
    On("s.id = t.id and t.v > 0", lambda of: _equal("id=id")(of) and (of("t.v") or 0) > 0),
    On("t.s.k = s.v", _equal("s.k=v")),
)


def _sets(*choices: Set) -> st.SearchStrategy[tuple[Set, ...]]:
    unique = st.lists(
        st.sampled_from(choices), min_size=1, max_size=3, unique_by=lambda one: one.column
    )
    return unique.map(tuple)


def _conditions(sides: str, wheres: st.SearchStrategy[Expr]) -> st.SearchStrategy[Condition]:
    return st.builds(Condition, st.sampled_from(sides), wheres)


def _clauses(
    kind: str, last: st.SearchStrategy[Clause], inner: st.SearchStrategy[Clause]
) -> st.SearchStrategy[tuple[Clause, ...]]:
    """Clauses of a kind: some with conditions, then perhaps one without."""
    return st.tuples(st.lists(inner, max_size=2), st.lists(last, max_size=1)).map(
        lambda parts: (*parts[0], *parts[1])
    )


def _of_kind(
    kind: str, does: dict[str, st.SearchStrategy[Any]], sides: str, wheres: st.SearchStrategy[Expr]
) -> st.SearchStrategy[tuple[Clause, ...]]:
    def made(conditions: st.SearchStrategy[Any]) -> st.SearchStrategy[Clause]:
        return st.one_of(
            st.builds(Clause, st.just(kind), st.just(what), conditions, sets)
            for what, sets in does.items()
        )

    return _clauses(kind, made(st.none()), made(_conditions(sides, wheres)))


_NOTHING: st.SearchStrategy[tuple[Set, ...]] = st.just(())
_wheres = predicates_of("id", "g", "v", "d", "s.k")
matched = _of_kind(
    "matched",
    {
        "update": _sets(*OF_TARGET, *OF_SOURCE, *OF_BOTH),
        "update all": _NOTHING,
        "delete": _NOTHING,
    },
    "ts",
    _wheres,
)
not_matched = _of_kind(
    "insert", {"insert all": _NOTHING, "insert": _sets(*OF_SOURCE)}, "s", _wheres
)
by_source = _of_kind("by source", {"update": _sets(*OF_TARGET), "delete": _NOTHING}, "t", _wheres)


def _distinct_by_id(rows: tuple[Given, ...]) -> tuple[Given, ...]:
    return tuple({row["id"]: row for row in rows}.values())


merges = st.builds(
    Merge,
    st.one_of(*[given_rows.map(_distinct_by_id)] * 6, given_rows, st.just(())),
    st.sampled_from((*JOINS[:1], *JOINS)),
    st.tuples(matched, not_matched, st.one_of(st.just(()), by_source)).map(
        lambda kinds: tuple(clause for kind in kinds for clause in kind)
    ),
).filter(lambda merge: bool(merge.clauses))
updates = st.builds(Update, _sets(*OF_TARGET), _wheres)
