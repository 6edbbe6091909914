"""Runs the test suites one after the other and ends with one line for all of them.

    python scripts/run_tests.py [--all] [unit] [oracle] [spark] [processes] [spark-4.3] [lowest]
        [clients]

Suites without Spark run in three processes, of which one or the other waits for a server or a
child; each suite with Spark runs in one, so that its tests share a JVM. Such tests wait as much as
they work, so three of these suites run at any time, the long ones first; what they print comes when
they end. Of parametrised tests with Spark a fixed half of the cases runs (`tests/cases.py`), with
`--all` every case.
"""

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Suite:
    """Which tests run together, in which environment."""

    folders: tuple[str, ...]
    options: tuple[str, ...] = ()
    environment: str = ".venv"
    shares: bool = False  # the machine, with other suites
    cases: str = "all"  # of `tests.cases.CASES`
    cases_of_all: str = "all"  # the same with --all
    covers: bool = False  # lines it ran count for the coverage of the whole; tracing takes CPU


@dataclass(frozen=True, slots=True)
class Count:
    """How many tests had which end; an error is a failure."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped
        )

    def __str__(self) -> str:
        ends = f"{self.passed} passed, {self.failed} failed"
        return f"{ends}, {self.skipped} skipped" if self.skipped else ends


COVERED = ("--cov", "--cov-report=", "--cov-fail-under=0")
"""Each suite leaves a file; what all of them reached is judged at the end."""

QUICK_JVM = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m -XX:-MethodFlushing "
    "-XX:MetaspaceSize=512m -XX:CompileThresholdScaling=0.2"
)
"""No test runs so long that optimised machine code pays: compiling it took 43% of a JVM's time.

Without that compiler a JVM keeps 48 MB of code, and looking for code to drop from it, for what
Spark generates for each query, was 17% to 30% of a JVM's time. Its classes fill the metaspace so
slowly that collecting before 512 MB finds nothing. A third of a JVM's time was interpreting, so
code is compiled after a fifth of the usual calls.
"""

LANES = 3
"""How many suites with Spark run at a time: two cores are busy with three, a fourth JVM waits."""

WITH_PYSPARK = (
    "test_column_defaults",
    "test_commands",
    "test_constants",
    "test_references_iceberg",
    "test_view_columns",
    "test_view_names",
)
"""Modules that import PySpark, which the environment with the lowest versions lacks."""

WHEEL_TEST = "tests/architecture/test_wheel.py"
SUITES = {
    "unit": Suite(
        (
            "tests/unit",
            "tests/hostile",
            "tests/properties",
            "tests/catalog",
            "tests/cli",
            "tests/report",
            "tests/faults",
            "tests/interleavings",
            "tests/fuzz",
            "tests/architecture",
        ),
        ("-n", "3", "--dist", "loadgroup", f"--ignore={WHEEL_TEST}"),  # a group shares a server
        covers=True,
    ),
    "oracle": Suite(("tests/oracle",), shares=True, cases="half"),
    "spark": Suite(
        ("tests/spark",),
        ("-m", "not own_process"),
        shares=True,
        cases="half",
        covers=True,
    ),
    "processes": Suite(
        ("tests/spark", "tests/notebooks", WHEEL_TEST),
        ("-m", "own_process"),
        shares=True,
        cases="half",
    ),
    "spark-4.3": Suite(
        ("tests/spark",), (), ".venv-4.3", shares=True, cases="third", cases_of_all="one"
    ),
    "lowest": Suite(
        tuple(f"tests/unit/{room}" for room in ("commits", "expr", "scan", "spec", "spark/sql")),
        tuple(f"--ignore=tests/unit/spark/sql/{name}.py" for name in WITH_PYSPARK),
        ".venv-lowest",
        shares=True,
    ),
    "clients": Suite(
        ("tests/clients",),
        ("-W", "ignore", "-p", "dbt.tests.fixtures.project"),  # warnings are the clients' own
        ".venv-clients",
        shares=True,
        cases="one",
    ),
}


def run(name: str, suite: Suite, cases: str) -> Count:
    """One pytest process; what it counted."""
    python = ROOT / suite.environment / "bin" / "python"
    folders = [folder for folder in suite.folders if (ROOT / folder).exists()]
    env = {
        **os.environ,
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
        "SPARK_CONF_DIR": str(ROOT / "conf"),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(ROOT / "tests" / "preloaded"), os.environ.get("PYTHONPATH")])
        ),
        "COVERAGE_FILE": str(coverage_file(name)),
        "SPARK_SUBMIT_OPTS": f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {QUICK_JVM}".strip(),
    }
    print(f"=== {name}: {' '.join(folders)} ({suite.environment}), cases: {cases}", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [str(python), "-m", "pytest", "-q", "--durations=5", f"--junitxml={report}"]
        chosen = [f"--cases={cases}"]
        done = subprocess.run(
            [
                *command,
                *suite.options,
                *chosen,
                *(COVERED if suite.covers and cases == "all" else ()),
                *folders,
            ],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        count, costly = count_of(report), costly_modules(report)
    lines = [f"\n{done.stdout}", *costly]
    if done.returncode and not count.failed:
        lines.append(f"=== {name}: pytest ended with {done.returncode}: see above")
        count += Count(failed=1)  # nothing collected, a crash, or too little covered
    lines.append(f"=== {name}: {count} in {time.monotonic() - started:.0f} s")
    print("\n".join(lines), flush=True)
    return count


def coverage_file(name: str) -> Path:
    """Where a suite leaves what it reached."""
    return ROOT / f".coverage.{name}"


def judged_coverage(names: Sequence[str]) -> Count:
    """One failure where the suites together reach too little; nothing unless all of them ran."""
    covering = [name for name, suite in SUITES.items() if suite.covers]
    if not set(covering) <= set(names):
        return Count()
    coverage = [sys.executable, "-m", "coverage"]
    found = [str(coverage_file(name)) for name in covering]
    for arguments in (["combine", *found], ["report"]):
        done = subprocess.run([*coverage, *arguments], cwd=ROOT, check=False)
        if done.returncode:
            print(f"=== coverage: {arguments[0]} ended with {done.returncode}: see above")
            return Count(failed=1)
    return Count()


def count_of(report: Path) -> Count:
    """The totals of a JUnit report."""
    if not report.exists():
        return Count()
    count = Count()
    for suite in ET.parse(report).getroot().iter("testsuite"):
        tests, failures, errors, skipped = (
            int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")
        )
        failed = failures + errors
        count += Count(tests - failed - skipped, failed, skipped)
    return count


def costly_modules(report: Path, how_many: int = 15) -> list[str]:
    """The test modules of a JUnit report that took most seconds, as lines."""
    taken: defaultdict[str, float] = defaultdict(float)
    if report.exists():
        for case in ET.parse(report).getroot().iter("testcase"):
            taken[case.get("classname", "")] += float(case.get("time", 0))
    most = sorted(taken.items(), key=lambda each: -each[1])[:how_many]
    return [f"{seconds:6.0f} s  {name}" for name, seconds in most]


def main(names: Sequence[str]) -> int:
    """Run the named suites, by default those of `make test`; 0 if every test passed."""
    runs_all, names = "--all" in names, [name for name in names if name != "--all"]
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(f"No suite {', '.join(unknown)}; there are {', '.join(SUITES)}.", file=sys.stderr)
        return 2
    chosen = list(names or SUITES)
    cases = {name: SUITES[name].cases_of_all if runs_all else SUITES[name].cases for name in chosen}
    total = Count()
    for name in chosen:
        if not SUITES[name].shares:
            total += run(name, SUITES[name], cases[name])
    sharing = [name for name in chosen if SUITES[name].shares]
    with ThreadPoolExecutor(LANES) as lanes:
        total = sum(lanes.map(lambda name: run(name, SUITES[name], cases[name]), sharing), total)
    if runs_all:  # fewer cases reach fewer lines
        total += judged_coverage(chosen)
    print(f"\n{total}", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
