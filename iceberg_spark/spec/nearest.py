"""Suggest the name that a misspelt name is closest to, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_CLOSE = 0.6
_SHOWN = 40


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """Return "; did you mean 'id'?" for a name that is close to a known one, else "".

    If a known name differs only by case, the suggestion points out that case matters.
    """
    candidates = list(known_names)
    cased = next(
        (
            known_name
            for known_name in candidates
            if known_name.lower() == name.lower() and known_name != name
        ),
        None,
    )
    if cased is not None:
        return f"; did you mean '{cased}'? They differ by case only, and case counts here"
    close = nearest(name, candidates)
    return f"; did you mean '{close}'?" if close else ""


def nearest(name: str, known_names: Iterable[str]) -> str | None:
    """Return the closest known name, ignoring case, or None if none is close."""
    lower = {known_name.lower(): known_name for known_name in known_names}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=_CLOSE)
    return lower[close[0]] if close else None


def name_list(names: Sequence[str]) -> str:
    """Return names for a message: all of them, or the first ones and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
