"""Each item of the rig's table has the tests that it names."""

import re

from tests.architecture.source import ROOT
from tests.hostile import rig

ROW = re.compile(r"^\| (\d+) \| .* \| (.*) \|$", re.MULTILINE)
DEFINED = re.compile(r"^def (test_\w+)", re.MULTILINE)


def test_each_item_names_tests_that_are_there() -> None:
    rows = {int(item): names.split(", ") for item, names in ROW.findall(rig.__doc__ or "")}
    assert sorted(rows) == list(range(1, 13))
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    defined = {name for text in texts for name in DEFINED.findall(text)}
    assert {name for names in rows.values() for name in names} - defined == set()
