"""What few places alone may do with PySpark, and which places these are."""

import ast

import pytest

from tests.architecture.source import SourceFile, against, files, names_used

INTERNALS = {
    "_activeSession", "_explain_string", "_gateway", "_get_j_spark_session_class", "_jc", "_jconf",
    "_jdf", "_jreader", "_jsc", "_jsparkSession", "_jvm", "_sc",
}  # fmt: skip
KNOW_INTERNALS = {
    f"iceberg_spark/spark/{name}.py"
    for name in (
        "catalyst/classic_frame",
        "catalyst/classic_queries",
        "catalyst/column_texts",
        "catalyst/file_pruning",
        "catalyst/key_filters",
        "catalyst/planned_relations",
        "catalyst/spark_catalog",
        "session/classic_session",
        "session/long_texts",
    )
}
"""Each function there says what a Connect session has instead."""

ONTO_TASKS = {
    "mapInArrow": {"iceberg_spark/spark/adapt/map_arrow.py"},
    "applyInArrow": {"iceberg_spark/spark/adapt/map_arrow.py"},
    "mapInPandas": set[str](),
    "applyInPandas": set[str](),
    "foreachPartition": set[str](),
    "pickle": {"iceberg_spark/spark/adapt/task_results.py"},
}
"""Spark's ways to run Python in tasks, and pickles that are taken apart: where they are used."""

OURS = files("iceberg_spark", "pyspark_pyiceberg_lite")


def reached_for(file: SourceFile, names: set[str]) -> set[str]:
    """Names of attributes that a file reads, sets, or asks for by text."""
    found: set[str] = set()
    for node in ast.walk(file.tree):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found.add(name)
    return found & names


def test_pysparks_internals_are_known_in_two_rooms_that_are_needed():
    found = against(lambda file: reached_for(file, INTERNALS), OURS)
    assert set(found) == KNOW_INTERNALS, found


def test_internals_asked_for_by_text_are_found():
    asked = SourceFile("a.py", 'x = getattr(frame, "_jdf", None)\ny = session._sc\n')
    assert reached_for(asked, INTERNALS) == {"_jdf", "_sc"}


@pytest.mark.parametrize("name", ONTO_TASKS)
def test_there_is_one_way_onto_sparks_tasks(name: str):
    users = {file.path for file in OURS if name in names_used(file.tree)}
    assert users == ONTO_TASKS[name]


def parses_expressions(file: SourceFile) -> bool:
    """Whether a file hands a text to PySpark's `functions.expr`."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "expr"
        and isinstance(node.value, ast.Name)
        and node.value.id in ("sf", "F")
        for node in ast.walk(file.tree)
    )


def test_expressions_are_parsed_without_variables():
    """Names and values of tables may hold `${...}`, which Spark's parser would replace."""
    found = against(parses_expressions, OURS)
    assert set(found) == {"iceberg_spark/spark/session/expressions.py"}
