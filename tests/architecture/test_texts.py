"""What no text of the project may hold, and the files that its texts name."""

import re
import subprocess

from tests.architecture.source import ROOT

_PATH = re.compile(r"`((?:tests|iceberg_spark|scripts|demo|benchmarks|docs)/[\w/.-]+)`")
_TEST = re.compile(r"`(test_\w+\.py)`")


def test_no_file_holds_both_sides_of_a_merge() -> None:
    found = subprocess.run(
        ["git", "grep", "-lE", "^(<{7}|>{7}) "],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (1, ""), found.stderr


def test_each_file_that_the_documentation_names_exists() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    missing = {
        (page.name, name)
        for page in pages
        for text in [page.read_text(encoding="utf-8")]
        for name in (*_PATH.findall(text), *_TEST.findall(text))
        if name not in tests and not list(ROOT.glob(f"{name.rstrip('/')}*"))
    }
    assert missing == set()
