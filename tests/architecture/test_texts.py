"""What no text of the project may hold."""

import subprocess

from tests.architecture.source import ROOT


def test_no_file_holds_both_sides_of_a_merge() -> None:
    found = subprocess.run(
        ["git", "grep", "-lE", "^(<{7}|>{7}) "],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (1, ""), found.stderr
