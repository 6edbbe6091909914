"""The Python and SQL of the documentation, as a reader would run them."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "README.md",
    "docs/quickstart.md",
    "docs/tutorial.md",
    "docs/reading.md",
    "docs/writing.md",
    "docs/cdc.md",
    "docs/streams.md",
    "docs/evolution.md",
    "docs/types.md",
    "docs/history.md",
    "docs/metadata-tables.md",
    "docs/maintenance.md",
    "docs/table-report.md",
    "docs/schedule-maintenance.md",
    "docs/migrate.md",
    "docs/upsert-from-cdc.md",
    "docs/write-audit-publish.md",
    "docs/other-libraries.md",
    "docs/lineage.md",
    "docs/settings.md",
    "docs/sql.md",
)
_BLOCK = re.compile(r"^```(python|sql)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_END = re.compile(r";[ \t]*(?:--.*)?$", re.MULTILINE)


def blocks(page: str) -> list[str]:
    """The page's blocks, in order, as Python; `sql_spark` runs the statements of one in SQL."""
    found = _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [text if language == "python" else _calls(text) for language, text in found]


def _calls(text: str) -> str:
    statements = [one.strip() for one in _END.split(text)]
    return "".join(f"sql_spark.sql({one!r}).collect()\n" for one in statements if one)


def is_sql(block: str) -> bool:
    return block.startswith("sql_spark.")


def needs_spark(block: str) -> bool:
    return is_sql(block) or re.search(r"\bspark\b", block) is not None


def run(page: str, chosen: list[str], folder: Path, **known: Any) -> dict[str, Any]:
    """Run blocks one after the other in one namespace, with /tmp/ as a folder of their own."""
    names = dict(known)
    for block in chosen:
        code = re.sub(r"([\"'`])/tmp/", rf"\1{folder}/", block)
        exec(compile(code, page, "exec"), names)
    return names
