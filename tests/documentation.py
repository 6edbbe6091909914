"""The Python of the documentation, as a reader would run it."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    "docs/reading.md",
    "docs/writing.md",
    "docs/cdc.md",
    "docs/streams.md",
    "docs/evolution.md",
    "docs/types.md",
    "docs/history.md",
    "docs/metadata-tables.md",
    "docs/maintenance.md",
    "docs/lineage.md",
)
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    """The page's Python blocks, in order."""
    return _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))


def needs_spark(block: str) -> bool:
    return re.search(r"\bspark\b", block) is not None


def run(page: str, chosen: list[str], folder: Path, **known: Any) -> dict[str, Any]:
    """Run blocks one after the other in one namespace, with /tmp/ as a folder of their own."""
    names = dict(known)
    for block in chosen:
        code = block.replace('"/tmp/', f'"{folder}/').replace("`/tmp/", f"`{folder}/")
        exec(compile(code, page, "exec"), names)
    return names
