"""`iceberg-spark sql` runs a statement on Spark; the session of the tests is the active one."""

import json

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.cli.run import run

pytestmark = pytest.mark.spark


def test_sql_prints_rows_and_says_when_it_leaves_some_out(spark, tmp_path, capsys):
    table = ice.create_table(tmp_path / "t", "id bigint, x double")
    table.append(pa.table({"id": [1, 2, 3], "x": [1.5, float("nan"), None]}))
    text = f"SELECT * FROM `{tmp_path / 't'}` ORDER BY id"
    assert run(["sql", text, "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"id": 1, "x": 1.5}, {"id": 2, "x": "NaN"}, {"id": 3, "x": None},
    ]  # fmt: skip
    assert run(["sql", text, "--limit", "1"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "id\tx\n1\t1.5\n"
    assert "Only the first 1 rows are shown" in printed.err


def test_error_of_a_statement_is_one_line(spark, tmp_path, capsys):
    assert run(["sql", "SELEC 1"]) == 1
    error = capsys.readouterr().err
    assert "Syntax error at or near 'SELEC'" in error and error.count("\n") == 1
    assert run(["sql", f"SELECT * FROM `{tmp_path / 'none'}`"]) == 1
    assert capsys.readouterr().err.startswith("Error: No table at ")


def test_statement_without_rows_prints_nothing(spark, tmp_path, capsys):
    ice.create_table(tmp_path / "t", "id bigint")
    assert run(["sql", f"INSERT INTO `{tmp_path / 't'}` VALUES (1)"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["count", str(tmp_path / "t")]) == 0
    assert capsys.readouterr().out == "1\n"
