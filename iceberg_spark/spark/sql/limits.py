"""Bounds on queries."""

from __future__ import annotations

MOST_VIEWS = 1_000
"""Views that one statement reads, repeated ones counted each time. Each takes 10 ms to plan, and a
view that reads the one below it twice doubles their number: 20 such levels would take hours."""
