"""Values of metrics in reports to catalogs (REST specification: MetricResult)."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any


def count(value: int) -> dict[str, Any]:
    """Return a number of things."""
    return {"unit": "count", "value": value}


def bytes_of(value: int) -> dict[str, Any]:
    """Return a size in bytes."""
    return {"unit": "bytes", "value": value}


def duration(seconds: float) -> dict[str, Any]:
    """Return one measured time; reports have it in nanoseconds."""
    return {"count": 1, "time-unit": "nanoseconds", "total-duration": int(seconds * 1e9)}


def who_reports() -> dict[str, str]:
    """Return the report's metadata about its sender."""
    try:
        number = version("iceberg-spark")
    except PackageNotFoundError:  # on a PYTHONPATH, not installed
        number = "unknown"
    return {"engine-name": "iceberg-spark", "engine-version": number}
