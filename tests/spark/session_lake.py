"""A catalog that one session alone knows, as a fixture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice


@pytest.fixture
def lake(any_spark: Any, tmp_path: Path) -> Iterator[Any]:
    """An enabled session, classic and over Connect, which alone knows the catalog `lake`."""
    settings = {"lake.type": "filesystem", "lake.warehouse": str(tmp_path)}
    for key, value in settings.items():
        any_spark.conf.set(f"spark.sql.catalog.{key}", value)
    ice.enable(any_spark)
    yield any_spark
    ice.disable(any_spark)
    for key in settings:
        any_spark.conf.unset(f"spark.sql.catalog.{key}")
