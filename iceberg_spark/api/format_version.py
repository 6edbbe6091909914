"""Which format versions new tables may have: those that can be written."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec.format_version import WRITTEN, WRITTEN_VERSIONS
from iceberg_spark.spec.properties import FORMAT_VERSION, int_property


def check_writable_version(properties: Mapping[str, str]) -> int:
    """Return the version in properties. Raises UnsupportedError if it cannot be written."""
    version = int_property(properties, FORMAT_VERSION)
    if version > max(WRITTEN):
        raise UnsupportedError(
            f"Property '{FORMAT_VERSION}' is {version}: tables of format version "
            f"{version} can't be written; use {WRITTEN_VERSIONS}"
        )
    return max(version, min(WRITTEN))
