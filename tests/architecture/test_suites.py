"""Every test is run by `make test`, and none is switched off."""

import ast
from typing import Any

from scripts.run_tests import SUITES, Count, count_of, judged_coverage
from tests.architecture.source import SourceFile, against, files, names_used
from tests.cases import CASES as WAYS
from tests.cases import half_of_cases, one_case_each, third_of_tests

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


class Case:
    """What is asked of one of pytest's items: its name and its mark."""

    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid

    def get_closest_marker(self, name: str) -> bool:
        return name in self.nodeid


MANY: list[Any] = [Case(f"m.py::test_many[{n}]") for n in range(21)]
SINGLE: list[Any] = [Case(f"m.py::test_single{n}") for n in range(20)]
SLOW: list[Any] = [Case("n.py::test_slow[0]"), Case("n.py::test_slow[1]")]
LONE: list[Any] = [Case("o.py::test_lone")]
CASES = [*MANY, *SINGLE, *SLOW, *LONE]


def test_all_cases_run_by_request_and_one_on_a_second_pyspark() -> None:
    of_all = {name: suite.cases_of_all for name, suite in SUITES.items()}
    assert {name: cases for name, cases in of_all.items() if cases != "all"} == {"spark-4.3": "one"}
    assert {suite.cases for suite in SUITES.values()} | set(of_all.values()) == {*WAYS}
    assert WAYS["all"](CASES) == {*CASES}


def test_half_of_the_cases_are_of_each_test_and_the_others_come_next():
    turns = [half_of_cases(CASES, turn) for turn in (0, 1)]
    assert {*SINGLE, *LONE} == turns[0] & turns[1]
    assert turns[0] | turns[1] == {*CASES}
    assert [len(turn & {*MANY}) for turn in turns] == [11, 10]


def test_tests_of_the_same_cases_run_the_same_ones():
    others: list[Any] = [Case(f"m.py::test_others[{n}]") for n in range(21)]
    run = half_of_cases([*MANY, *others], 0)
    assert len({one.nodeid.partition("[")[2] for one in run}) == len(run) / 2


def test_a_case_of_every_third_test_is_of_each_module_and_all_come_in_three_turns():
    turns = [third_of_tests(CASES, turn) for turn in (0, 1, 2)]
    assert [len(turn - {*LONE}) for turn in turns] == [7, 7, 7]
    assert all({*LONE} < turn for turn in turns)
    assert turns[0] | turns[1] | turns[2] == one_case_each(CASES, 0)
    assert one_case_each(CASES, 0) & {*MANY} != one_case_each(CASES, 1) & {*MANY}


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
    assert str(judged_coverage(["unit", "oracle"])) == "0 passed, 0 failed"
    assert {name for name, suite in SUITES.items() if suite.covers} == {"unit", "spark"}
