"""Changes as hypothesis draws them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.verb_expressions import VALUES, predicates
from tests.verb_model import (
    Append,
    Change,
    Delete,
    DynamicOverwrite,
    Given,
    Overwrite,
    Part,
    Upsert,
)

PARTS = (
    Part("g"),
    Part("id", "bucket", 3),
    Part("id", "truncate", 4),
    Part("g", "truncate", 1),
    Part("d", "months"),
    Part("s.k"),
)
KEYS = (("id",), ("id",), ("id", "g"), ("g",), ("s.k",), ("d", "id"))


def _maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


_STRUCT = st.tuples(_maybe(VALUES["s.k"]), _maybe(st.sampled_from(["x", ""])))
row: st.SearchStrategy[Given] = st.fixed_dictionaries(
    {
        **{kind: _maybe(VALUES[kind]) for kind in ("id", "g", "v", "d", "f")},
        "s": _maybe(_STRUCT),
    }
)
rows = st.lists(row, min_size=1, max_size=8).map(tuple)


@st.composite
def upserts(draw: st.DrawFn) -> Upsert:
    given = draw(st.lists(row, min_size=1, max_size=10))
    operations = st.sampled_from(["I", "U", "D", "+I", "-U", "+U", "-D"])
    ops = tuple(draw(operations) for _ in given)
    order = draw(st.one_of(st.just(()), st.permutations(range(len(given))).map(tuple)))
    return Upsert(tuple(given), ops, draw(st.sampled_from(KEYS)), order)


_lacking = st.sets(st.sampled_from(["v", "d", "f", "s", "g"]), max_size=2).map(frozenset)
changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(Append, rows, st.one_of(st.just(frozenset()), _lacking)),
    st.builds(Delete, predicates),
    st.builds(Overwrite, predicates, rows),
    upserts(),
    st.builds(DynamicOverwrite, rows),
)
partitionings = st.one_of(
    st.just(()), st.sampled_from([(part,) for part in PARTS]), st.just((PARTS[0], PARTS[1]))
)
