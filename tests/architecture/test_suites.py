"""Every test is run by `make test`, and none is switched off."""

import ast

from scripts.run_tests import SUITES, Count, count_of, judged_coverage
from tests.architecture.source import SourceFile, against, files, names_used

TESTS = [file for file in files("tests") if file.path.rpartition("/")[2].startswith("test_")]


def test_every_test_file_belongs_to_a_suite():
    folders = tuple(f"{folder}/" for suite in SUITES.values() for folder in suite.folders)
    assert len(TESTS) > 100
    assert [file.path for file in TESTS if not f"{file.path}/".startswith(folders)] == []


def test_what_one_suite_leaves_out_by_a_mark_another_runs():
    marks = {name: suite.options[1] for name, suite in SUITES.items() if "-m" in suite.options}
    assert marks["spark"] == f"not {marks['processes']}"
    assert set(SUITES["spark"].folders) <= set(SUITES["processes"].folders)
    elsewhere = [f for f in SUITES["processes"].folders if f not in SUITES["spark"].folders]
    unmarked = [
        file.path
        for file in TESTS
        if file.path.startswith(tuple(elsewhere)) and "own_process" not in names_used(file.tree)
    ]
    assert unmarked == []


LONG = {  # run by make stream-kills and make kills
    "test_streams_that_are_kept_up_and_killed_write_each_row_once",
    "test_streams_of_two_drivers_with_one_checkpoint_write_each_row_once",
    "test_killed_writers_lose_and_double_nothing",
}


def switched_off(file: SourceFile) -> frozenset[str]:
    return names_used(file.tree) & {"skipif", "xfail", "importorskip", "skip"}


def sometimes_there(file: SourceFile) -> frozenset[str]:
    """The tests of a module that are defined under a condition."""
    conditions = [node for node in file.tree.body if isinstance(node, ast.If | ast.Try | ast.For)]
    inside = [node for each in conditions for node in ast.walk(each)]
    defined = {node.name for node in inside if isinstance(node, ast.FunctionDef)}
    named = {
        node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return frozenset(name for name in defined | named if name.startswith("test"))


def test_no_test_is_marked_to_be_skipped_or_to_fail():
    assert against(switched_off, TESTS) == {}


def test_every_test_is_there_always_but_for_those_that_take_minutes():
    assert {name for file in TESTS for name in sometimes_there(file)} == LONG


def test_totals_count_an_error_as_a_failure(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite tests="7" failures="1" errors="2" skipped="1"/></testsuites>'
    )
    assert str(count_of(report) + Count(passed=1)) == "4 passed, 3 failed, 1 skipped"


def test_coverage_is_judged_only_where_every_covering_suite_ran():
    assert str(judged_coverage(["unit", "spark-4.3"])) == "0 passed, 0 failed"
    assert {name for name, suite in SUITES.items() if suite.covers} == {"unit", "spark"}
