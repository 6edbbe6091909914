"""What concurrent writers leave behind, Java reads as we do."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.stress import make_table, stress
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import location, read


@pytest.mark.slow
def test_java_reads_what_killed_processes_left(java: SparkSession, tmp_path: Path) -> None:
    path = location(java, "stressed")
    make_table(path)
    outcome = stress(path, tmp_path, seconds=5, processes=8, samples=1)
    assert outcome.found.violations == []
    assert outcome.found.commits > 1
    ours = ice.load_table(path).scan().to_arrow()
    assert ours.num_rows == outcome.found.rows
    assert_same_rows(ours, read(java, path), what="Java after the stress")
