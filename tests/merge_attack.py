"""MERGE as SQL beside a plain model of it: statements drawn at random, over rows with odd values.

The model is SQL's words as loops: NULL is equal to nothing, NaN to NaN, -0.0 to 0.0; the first WHEN
whose condition holds is carried out; a row of the target that several rows of the source match is
an error, unless there is but one WHEN MATCHED, which deletes them all. A field that is set makes a
struct of NULL one of NULLs. With schema evolution `*` gives the table the source's columns.
"""

# ruff: noqa: ARG005 - every value is given both rows

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Rows = list[Row]
Value = Callable[[Row, Row], Any]
NONE: Row = {}
NAN = float("nan")
KEYS = (None, NAN, -0.0, 0.0, 1.0, 2.0, 3.5, -1.0)
TEXTS = (None, "", "a", "A", "it's", "ß", "-- no; comment")
NUMBERS = (None, -1, 0, 1, 2, 3)
OPS = (None, "D", "U")
NESTED = (None, {"a": None, "b": None}, {"a": 1, "b": "x"}, {"a": 2, "b": None})
KINDS = {"k": "double", "v": "int", "s": "string", "p": "struct<a: int, b: string>", "op": "string"}


class MatchedTwiceError(Exception):
    """Several rows of the source match a row of the target."""


def equal(one: Any, other: Any) -> bool | None:
    """SQL's `=`."""
    if one is None or other is None:
        return None
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    return bool(one == other)


def same(one: Any, other: Any) -> bool:
    """SQL's `<=>`."""
    return (one is None and other is None) or equal(one, other) is True


def greater(one: Any, other: Any) -> bool | None:
    return None if one is None or other is None else bool(one > other)


def both(one: bool | None, other: bool | None) -> bool | None:
    """SQL's AND."""
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def either(one: bool | None, other: bool | None) -> bool | None:
    """SQL's OR."""
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


@dataclass(frozen=True)
class Said:
    """An expression as text, and what it is worth for a row of the target and one of the source."""

    text: str
    value: Value


def field(struct: Mapping[str, Any] | None, name: str) -> Any:
    return None if struct is None else struct[name]


def _plus(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one + other


JOINS = (
    Said("t.k = s.k", lambda t, s: equal(t["k"], s["k"])),
    Said("t.k <=> s.k", lambda t, s: same(t["k"], s["k"])),
    Said("s.k = t.k AND t.v > 0", lambda t, s: both(equal(s["k"], t["k"]), greater(t["v"], 0))),
    Said("t.s = s.s", lambda t, s: equal(t["s"], s["s"])),
    Said(
        "t.k = s.k AND t.s <=> s.s",
        lambda t, s: both(equal(t["k"], s["k"]), same(t["s"], s["s"])),
    ),
    Said(
        "(t.k = s.k OR t.v = s.v) AND s.op = 'U'",
        lambda t, s: both(
            either(equal(t["k"], s["k"]), equal(t["v"], s["v"])), equal(s["op"], "U")
        ),
    ),
    Said("t.p.a = s.p.a", lambda t, s: equal(field(t["p"], "a"), field(s["p"], "a"))),
    Said("false", lambda t, s: False),
)
OF_SOURCE = (
    Said("s.op = 'D'", lambda t, s: equal(s["op"], "D")),
    Said("s.v IS NULL", lambda t, s: s["v"] is None),
    Said("isnan(s.k) OR s.s = 'A'",
         lambda t, s: either(equal(s["k"], NAN) is True, equal(s["s"], "A"))),
)  # fmt: skip
OF_TARGET = (
    Said("t.v > 1", lambda t, s: greater(t["v"], 1)),
    Said("t.s = concat('it', char(39), 's')", lambda t, s: equal(t["s"], "it's")),
    Said("CASE WHEN t.k IS NULL THEN true END", lambda t, s: True if t["k"] is None else None),
    Said("t.s NOT IN ('a', '-- no; comment')",
         lambda t, s: None if t["s"] is None else t["s"] not in ("a", "-- no; comment")),
)  # fmt: skip
OF_BOTH = (*OF_SOURCE, *OF_TARGET, Said("t.v > s.v", lambda t, s: greater(t["v"], s["v"])))
SETS_OF_TARGET = (
    ("v", Said("t.v - 1", lambda t, s: _plus(t["v"], -1))),
    ("s", Said("'WHEN MATCHED'", lambda t, s: "WHEN MATCHED")),
    ("s", Said("concat(t.s, '!')", lambda t, s: _plus(t["s"], "!"))),
    ("k", Said("-t.k", lambda t, s: None if t["k"] is None else -t["k"])),
    ("v", Said("NULL", lambda t, s: None)),
    ("p", Said("NULL", lambda t, s: None)),
    ("p.a", Said("t.v", lambda t, s: t["v"])),
    ("p.b", Said("concat(t.p.b, '.')", lambda t, s: _plus(field(t["p"], "b"), "."))),
)
SETS = (
    *SETS_OF_TARGET,
    ("v", Said("s.v", lambda t, s: s["v"])),
    ("v", Said("t.v + s.v", lambda t, s: _plus(t["v"], s["v"]))),
    ("k", Said("s.k", lambda t, s: s["k"])),
    ("s", Said("s.s", lambda t, s: s["s"])),
    ("p", Said("s.p", lambda t, s: s["p"])),
    ("p.a", Said("s.p.a", lambda t, s: field(s["p"], "a"))),
    ("p.b", Said("s.s", lambda t, s: s["s"])),
)
GIVEN = (
    ("k", Said("s.k", lambda t, s: s["k"])),
    ("v", Said("s.v + 1", lambda t, s: _plus(s["v"], 1))),
    ("s", Said("CASE WHEN s.v > 1 THEN 'then' ELSE s.s END",
               lambda t, s: "then" if greater(s["v"], 1) else s["s"])),
    ("p", Said("named_struct('a', s.v, 'b', s.op)", lambda t, s: {"a": s["v"], "b": s["op"]})),
)  # fmt: skip


@dataclass(frozen=True)
class When:
    """`kind` is matched, new or lone (not matched by source); no values stand for `*`."""

    kind: str
    does: str
    condition: Said | None
    values: Sequence[tuple[str, Said]] = ()

    @property
    def text(self) -> str:
        head = {"matched": "MATCHED", "new": "NOT MATCHED", "lone": "NOT MATCHED BY SOURCE"}
        also = "" if self.condition is None else f" AND {self.condition.text}"
        return f"WHEN {head[self.kind]}{also} THEN {self._does()}"

    def _does(self) -> str:
        if self.does == "delete" or not self.values:
            return {"delete": "DELETE", "update": "UPDATE SET *", "insert": "INSERT *"}[self.does]
        names = ", ".join(name for name, _ in self.values)
        if self.does == "insert":
            return f"INSERT ({names}) VALUES ({', '.join(one.text for _, one in self.values)})"
        return f"UPDATE SET {', '.join(f'{name} = {one.text}' for name, one in self.values)}"

    @property
    def sets_all(self) -> bool:
        return self.does != "delete" and not self.values

    def holds(self, target: Row, source: Row) -> bool:
        return self.condition is None or self.condition.value(target, source) is True


@dataclass(frozen=True)
class Merge:
    source: Sequence[Row]
    on: Said
    clauses: Sequence[When]
    evolves: bool = False

    def text(self, table: str) -> str:
        rows = ", ".join(f"({', '.join(map(literal, row.values()))})" for row in self.source)
        names = ", ".join(KINDS)
        typed = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in KINDS.items())
        source = f"(SELECT {typed} FROM VALUES {rows} AS raw ({names}))"
        if not self.source:
            empty = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in KINDS.items())
            source = f"(SELECT {empty} FROM range(0))"
        grows = " WITH SCHEMA EVOLUTION" if self.evolves else ""
        whens = "\n".join(one.text for one in self.clauses)
        return f"MERGE{grows} INTO {table} AS t USING {source} AS s ON {self.on.text}\n{whens}"

    @property
    def checks(self) -> bool:
        matched = [one for one in self.clauses if one.kind == "matched"]
        alone = [(one.does, one.condition) for one in matched] == [("delete", None)]
        return bool(matched) and not alone

    def grown(self, columns: Sequence[str]) -> list[str]:
        """Return the table's columns after it."""
        every = any(one.kind != "lone" and one.sets_all for one in self.clauses)
        more = [name for name in KINDS if name not in columns] if self.evolves and every else []
        return [*columns, *more]

    def applied(self, rows: Rows, before: Sequence[str]) -> Rows:
        """Return the rows after it. Raises MatchedTwiceError."""
        columns = self.grown(before)
        rows = [{name: row.get(name) for name in columns} for row in rows]
        met: set[int] = set()
        after: Rows = []
        for row in rows:
            found = [
                place for place, one in enumerate(self.source) if self.on.value(row, one) is True
            ]
            met.update(found)
            if len(found) > 1 and self.checks:
                raise MatchedTwiceError
            source = self.source[found[0]] if found else NONE
            kept = self._changed("matched" if found else "lone", row, source, columns)
            after += [] if kept is None else [kept]
        empty = dict.fromkeys(columns)
        for place, source in enumerate(self.source):
            if place not in met:
                made = self._changed("new", empty, source, columns)
                after += [] if made is None or made is empty else [made]
        return after

    def _changed(self, kind: str, row: Row, source: Row, columns: Sequence[str]) -> Row | None:
        """Return what becomes of a row: itself where nothing is said of it, None for no row."""
        for one in self.clauses:
            if one.kind != kind or not one.holds(row, source):
                continue
            if one.does == "delete":
                return None
            if not one.values:
                return {name: source[name] for name in columns}
            return assigned(row, [(name, said.value(row, source)) for name, said in one.values])
        return row


def assigned(row: Row, values: Sequence[tuple[str, Any]]) -> Row:
    """Return a row with other values of its columns, and of fields in them."""
    made = dict(row)
    for path, value in values:
        name, _, inner = path.partition(".")
        before = made[name] or {"a": None, "b": None}
        made[name] = {**before, inner: value} if inner else value
    return made


def literal(value: Any) -> str:
    """Return a value as SQL."""
    match value:
        case None:
            return "NULL"
        case float():
            return f"double('{value}')"
        case str():
            return f"CAST(X'{value.encode().hex()}' AS string)"
        case dict():
            inner = ", ".join(f"'{name}', {literal(one)}" for name, one in value.items())
            return f"CAST(named_struct({inner}) AS {KINDS['p']})"
        case _:
            return str(value)


def shown(rows: Sequence[Sequence[Any]]) -> Counter[str]:
    """Return rows as a multiset in which NaN is NaN and -0.0 is not 0.0."""
    return Counter(repr(tuple(row)) for row in rows)


def drawn_rows(draw: random.Random, names: Sequence[str], most: int) -> Rows:
    choices = {"k": KEYS, "v": NUMBERS, "s": TEXTS, "p": NESTED, "op": OPS}
    return [
        {name: draw.choice(choices[name]) for name in names} for _ in range(draw.randint(0, most))
    ]


def drawn_merge(draw: random.Random, *, evolves: bool = False) -> Merge:
    """Return any merge; most have a source in which no key is twice."""
    source = drawn_rows(draw, list(KINDS), 6)
    if draw.random() < 0.8:
        source = list({repr(row["k"]).lstrip("-"): row for row in source}.values())
    clauses: list[When] = []
    for kind, conditions in (("matched", OF_BOTH), ("new", OF_SOURCE), ("lone", OF_TARGET)):
        conditioned = draw.sample(conditions, draw.randint(0, 2))
        last = [None] if draw.random() < 0.6 else []
        clauses += [_drawn_when(draw, kind, one) for one in [*conditioned, *last]]
    if not clauses:
        clauses = [When("matched", "delete", None)]
    return Merge(source, draw.choice((JOINS[0], *JOINS)), clauses, evolves)


def _drawn_when(draw: random.Random, kind: str, condition: Said | None) -> When:
    if kind == "new":
        some = draw.sample(GIVEN, draw.randint(1, 3)) if draw.random() < 0.6 else []
        return When(kind, "insert", condition, some)
    if draw.random() < 0.3:
        return When(kind, "delete", condition)
    if kind == "matched" and draw.random() < 0.3:
        return When(kind, "update", condition)
    sets = SETS if kind == "matched" else SETS_OF_TARGET
    some = dict(draw.sample(sets, draw.randint(1, 4)))
    whole = [(name, said) for name, said in some.items() if name.partition(".")[0] == name]
    fields = [(name, said) for name, said in some.items() if "." in name and "p" not in some]
    return When(kind, "update", condition, [*whole, *fields])
