"""The examples of the documentation, all of them, as they stand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from tests.documentation import PAGES, blocks, needs_spark, run

WITH_SPARK = [page for page in PAGES if any(needs_spark(block) for block in blocks(page))]


@pytest.fixture
def readers_session(spark: Any) -> Iterator[Any]:
    """Yield the session, and undo what pages ask of it."""
    yield spark
    ice.disable(spark)


@pytest.mark.parametrize("page", WITH_SPARK)
def test_examples_run(page: str, readers_session: Any, tmp_path: Path) -> None:
    if page != "README.md":  # the table that the README's first example makes
        run("README.md", blocks("README.md")[:1], tmp_path)
    run(page, blocks(page), tmp_path, spark=readers_session)
