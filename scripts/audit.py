"""Look for known holes in the pinned dependencies, by pip-audit: `make audit`.

pip-audit gets what is known from the package index's JSON interface or from OSV. Neither is there
behind every mirror, so both are tried; an audit that could not be done fails in one sentence.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PIP_AUDIT = ROOT / ".venv-audit" / "bin" / "pip-audit"
SERVICES = ("pypi", "osv")
OPTIONS = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json")
UNREACHED = (
    "audit: the pinned versions were not checked, for neither the package index's JSON interface "
    "nor api.osv.dev answers from here"
)
_FOUND, _NOT_CHECKED = 1, 2


def audit(ask: Callable[[str], str], show: Callable[[str], None]) -> int:
    """Return the exit code: 0 without known holes, 1 with some, 2 if nobody could be asked.

    `ask` returns what pip-audit prints for a service, "" if the service does not answer.
    """
    for service in SERVICES:
        answer = ask(service)
        packages = json.loads(answer)["dependencies"] if answer else []
        if packages and not any("skip_reason" in package for package in packages):
            holes = [line for package in packages for line in _holes(package)]
            show("\n".join(holes) or f"audit: no known holes in {len(packages)} packages")
            return _FOUND if holes else 0
    show(UNREACHED)
    return _NOT_CHECKED


def _holes(package: dict[str, Any]) -> Sequence[str]:
    name = f"{package['name']} {package['version']}"
    return [
        f"{name}: {hole['id']}, fixed in {', '.join(hole['fix_versions']) or 'no version'}"
        for hole in package["vulns"]
    ]


def _ask(service: str) -> str:
    constraints = str(ROOT / "constraints.txt")
    command = [str(PIP_AUDIT), "-s", service, *OPTIONS, "-r", constraints]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    sys.exit(audit(_ask, print))
