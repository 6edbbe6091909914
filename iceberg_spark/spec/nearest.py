"""Which known name a mistaken one comes nearest to: the end of many error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_CLOSE = 0.6
_SHOWN = 40


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'id'?" for a name that comes near to a known one, else nothing.

    A name that differs by case only is told so, since case counts.
    """
    names = list(known)
    cased = next((one for one in names if one.lower() == name.lower() and one != name), None)
    if cased is not None:
        return f"; did you mean '{cased}'? They differ by case only, and case counts here"
    close = nearest(name, names)
    return f"; did you mean '{close}'?" if close else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest, whatever its case, None where none is near."""
    lower = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=_CLOSE)
    return lower[close[0]] if close else None


def listed(names: Sequence[str]) -> str:
    """Return names for a message: all of them, or the first ones and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
