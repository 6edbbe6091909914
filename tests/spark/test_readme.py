"""The examples of the documentation, all of them, as they stand."""

from pathlib import Path
from typing import Any

import pytest

from tests.documentation import PAGES, blocks, needs_spark, run

WITH_SPARK = [page for page in PAGES if any(needs_spark(block) for block in blocks(page))]


@pytest.mark.parametrize("page", WITH_SPARK)
def test_examples_run(page: str, spark: Any, tmp_path: Path) -> None:
    if page != "README.md":  # the table that the README's first example makes
        run("README.md", blocks("README.md")[:1], tmp_path)
    run(page, blocks(page), tmp_path, spark=spark)
