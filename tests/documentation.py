"""The Python and SQL of the documentation, as a reader would run them."""

import doctest
import io
import re
from contextlib import redirect_stdout
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
    "docs/backfill.md",
    "docs/write-audit-publish.md",
    "docs/other-libraries.md",
    "docs/lineage.md",
    "docs/settings.md",
    "docs/sql.md",
)
_BLOCK = re.compile(
    r"^```(python|sql)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
_END = re.compile(r";[ \t]*(?:--.*)?$", re.MULTILINE)
_AS_SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: str) -> list[str]:
    """The page's blocks, in order, as Python; `sql_spark` runs the statements of one in SQL."""
    return [block for block, _ in _shown(page)]


def _shown(page: str) -> list[tuple[str, str]]:
    """The page's blocks as Python, with the output that the page shows behind each, or none.

    The last statement of a block in SQL is shown if the page has its rows.
    """
    return [
        (text if language == "python" else _calls(text, shows=bool(output)), output)
        for language, text, output in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    ]


def _calls(text: str, *, shows: bool) -> str:
    is_script = text.startswith("BEGIN\n")
    statements = [text] if is_script else [one.strip() for one in _END.split(text) if one.strip()]
    ends = ["collect()"] * len(statements)
    if shows:
        ends[-1] = "show(truncate=False)"
    calls = zip(statements, ends, strict=True)
    return "".join(f"sql_spark.sql({statement!r}).{end}\n" for statement, end in calls)


def is_sql(block: str) -> bool:
    return block.startswith("sql_spark.")


def needs_spark(block: str) -> bool:
    return is_sql(block) or re.search(r"\bspark\b", block) is not None


def run(page: str, chosen: list[str], folder: Path, **known: Any) -> dict[str, Any]:
    """Run blocks one after the other in one namespace, with /tmp/ as a folder of their own.

    What a block prints must be what the page shows below it, where `...` stands for any text.
    """
    names, shown = dict(known), dict(_shown(page))
    for block in chosen:
        code = re.sub(r"([\"'`])/tmp/", rf"\1{folder}/", block)
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        expected, output = shown[block], printed.getvalue()
        is_as_shown = doctest.OutputChecker().check_output(expected, output, _AS_SHOWN)
        assert is_as_shown or not expected, f"{page} shows\n{expected}\nfor\n{block}\n{output}"
    return names
