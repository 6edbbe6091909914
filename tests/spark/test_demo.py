"""The demo ends with what to try next."""

import re

import pytest

from demo.flights import show_next_steps
from tests.documentation import ROOT


def test_the_demo_ends_with_three_next_steps(capsys: pytest.CaptureFixture[str]) -> None:
    show_next_steps("/data/flights")
    steps = re.findall(r"^ +\d\. .*", capsys.readouterr().out, re.MULTILINE)
    assert len(steps) == 3
    pages = [page for step in steps for page in re.findall(r"docs/\S+\.md", step)]
    assert pages
    assert [page for page in pages if not (ROOT / page).exists()] == []
