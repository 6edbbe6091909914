"""The tables of docs/settings.md: what each setting and option of Java's runtime does here.

python -m scripts.runtime_settings           # print them
python -m scripts.runtime_settings --write   # write them into docs/settings.md
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from iceberg_spark.spec.runtime_names import (
    READ_OPTIONS,
    SESSION_SETTINGS,
    WRITE_OPTIONS,
    RuntimeName,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
BEGIN = "<!-- begin: make settings -->"
END = "<!-- end: make settings -->"
_SECTIONS = {
    "Session settings": SESSION_SETTINGS,
    "Read options": READ_OPTIONS,
    "Write options": WRITE_OPTIONS,
}


def report() -> str:
    """Return a section for each kind of name, each with a table."""
    return "\n".join(f"## {title}\n\n{_table(names)}" for title, names in _SECTIONS.items())


def insert_report(page: str) -> str:
    """Return the page with new tables between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{report()}\n{END}{after}"


def _table(names: Iterable[RuntimeName]) -> str:
    lines = ["| name | here | effect |", "|---|---|---|"]
    for name in names:
        status = "honoured" if name.honoured else "no effect"
        lines.append(f"| `{name.name}` | {status} | {name.effect} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(insert_report(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(report())
