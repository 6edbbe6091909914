"""Dependencies have no known holes, as far as one can ask."""

import json
import tomllib
from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.version import Version

from scripts.audit import UNREACHED, audit
from tests.architecture.source import ROOT

FIXED = {
    "urllib3": "2.6.3", "protobuf": "6.33.5", "setuptools": "78.1.1", "cryptography": "46.0.5",
    "flask": "3.1.3",
}  # fmt: skip
"""The first versions without a hole that was known of an earlier one."""


def requirements() -> Iterator[Requirement]:
    file = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, groups = file["project"], file["dependency-groups"].values()
    for names in (project["dependencies"], *project["optional-dependencies"].values(), *groups):
        yield from (Requirement(name) for name in names if isinstance(name, str))


def test_floors_are_versions_without_known_holes() -> None:
    floors = {
        required.name: Version(part.version)
        for required in requirements()
        for part in required.specifier
        if required.name in FIXED and part.operator == ">="
    }
    assert floors.keys() == FIXED.keys()
    assert {name for name, floor in floors.items() if floor < Version(FIXED[name])} == set()


WHOLE = {"name": "a", "version": "1", "vulns": []}
HOLED = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
SKIPPED = {"name": "c", "skip_reason": "not found on PyPI"}


def audited(*answers: list[dict[str, object]]) -> tuple[int, str]:
    """The exit code and what was shown, by what the services answer one after another."""
    left = [json.dumps({"dependencies": answer}) if answer else "" for answer in answers]
    said: list[str] = []
    code = audit(lambda _: left.pop(0), said.append)
    return code, "\n".join(said)


def test_an_audit_names_what_has_holes() -> None:
    assert audited([WHOLE, HOLED]) == (1, "b 2: CVE-1, fixed in 3")
    assert audited([WHOLE]) == (0, "audit: no known holes in 1 packages")


def test_an_audit_asks_another_service_where_one_does_not_know_every_package() -> None:
    assert audited([WHOLE, SKIPPED], [HOLED])[0] == 1
    assert audited([], [WHOLE])[0] == 0


def test_an_audit_that_nobody_answers_fails_in_one_sentence() -> None:
    assert audited([SKIPPED], []) == (2, UNREACHED)
