"""Every test is run by `make test`, and none is switched off."""

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


def switched_off(file: SourceFile) -> frozenset[str]:
    forbidden = {"skipif", "xfail", "importorskip", "skip"}
    if file.path.startswith("tests/oracle/"):
        forbidden.remove("skip")  # there it names the engine, its version and what it can't do
    return names_used(file.tree) & forbidden


def test_no_test_is_marked_to_be_skipped_or_to_fail():
    assert against(switched_off, TESTS) == {}


def test_totals_count_an_error_as_a_failure(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite tests="7" failures="1" errors="2" skipped="1"/></testsuites>'
    )
    assert str(count_of(report) + Count(passed=1)) == "4 passed, 3 failed, 1 skipped"


def test_coverage_is_judged_only_where_every_covering_suite_ran():
    assert str(judged_coverage(["unit", "spark-4.3"])) == "0 passed, 0 failed"
    assert {name for name, suite in SUITES.items() if suite.covers} == {"unit", "spark"}
