"""The examples of the reference that run on Spark."""

from typing import Any

import pytest

import iceberg_spark as ice
from tests.docstrings import examples, needs_spark, run

EXAMPLES = {name: text for name, text in examples().items() if needs_spark(name, text)}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_example_of_a_method_runs(name: str, spark: Any, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", str(tmp_path / "warehouse"))
    create = 'view = catalog.create_view("shop.large", "SELECT id FROM orders WHERE amount > 100")'
    try:
        run(f"{create}\n{EXAMPLES[name]}", tmp_path, spark=spark)
    finally:
        ice.disable(spark)
