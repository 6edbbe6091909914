"""The page of the documentation has each command and each confirmation."""

import inspect
import re

from iceberg_spark.cli.run import app
from tests.architecture.source import ROOT

PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")


def commands() -> dict[str, inspect.Signature]:
    groups = [("", app), *((f"{g.typer_instance.info.name} ", g.typer_instance)
                           for g in app.registered_groups)]  # fmt: skip
    return {
        prefix + (info.name or info.callback.__name__): inspect.signature(info.callback)
        for prefix, group in groups
        for info in group.registered_commands
    }


def test_page_names_each_command():
    shown = {
        text.strip()
        for line in PAGE.splitlines()
        if line.startswith("| `")
        for text in re.findall(r"`([a-z -]+)", line.split("|")[1])
    }
    assert set(commands()) <= shown


def test_page_names_each_command_that_asks():
    asks = {name for name, signature in commands().items() if "yes" in signature.parameters}
    section = PAGE.partition("## What asks before it acts")[2].partition("##")[0]
    assert asks == {name for name in asks if f"`{name}" in section}
    assert len(asks) == 9
