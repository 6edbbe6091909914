"""The reference of docs/procedures.md: each procedure with its parameters and columns.

python -m scripts.procedures_page           # print it
python -m scripts.procedures_page --write   # write it into docs/procedures.md
"""

import sys
from pathlib import Path

from iceberg_spark.statements.procedure import Procedure
from iceberg_spark.statements.procedures import PROCEDURES, PURPOSES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "procedures.md"
BEGIN = "<!-- begin: make settings -->"
END = "<!-- end: make settings -->"
_ONLY_HERE = {"convert_equality_deletes", "maintenance_plan", "upsert"}


def report() -> str:
    """Return a section for each procedure, in alphabetical order."""
    return "\n".join(_section(name, PROCEDURES[name]) for name in sorted(PROCEDURES))


def insert_report(page: str) -> str:
    """Return the page with a new reference between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{report()}\n{END}{after}"


def _section(name: str, procedure: Procedure) -> str:
    lines = [f"## {name}", "", PURPOSES[name], ""]
    if name in _ONLY_HERE:
        lines += ["Java's runtime does not have it.", ""]
    lines += ["| parameter | type | |", "|---|---|---|"]
    for position, (parameter, kind) in enumerate(procedure.parameters.items()):
        needed = "required" if position < procedure.required else ""
        lines.append(f"| `{parameter}` | `{kind.simpleString()}` | {needed} |")
    columns = ", ".join(f"`{column.split()[0]}`" for column in procedure.columns.split(", "))
    return "\n".join([*lines, "", f"Returns {columns}.", ""])


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(insert_report(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(report())
