"""The tables of docs/error-conditions.md: Spark's conditions of this library's errors.

python -m scripts.error_conditions_page           # print them
python -m scripts.error_conditions_page --write   # write them into docs/error-conditions.md
"""

import inspect
import sys
from pathlib import Path

from iceberg_spark.spark.session import error_conditions
from iceberg_spark.spark.session.error_conditions import CONDITIONS, ErrorCondition

PAGE = Path(__file__).resolve().parent.parent / "docs" / "error-conditions.md"
BEGIN = "<!-- begin: make settings -->"
END = "<!-- end: make settings -->"


def report() -> str:
    """Return a table of the classes with a condition, and one of the other conditions."""
    classes = ["| error | condition | SQLSTATE | raised if |", "|---|---|---|---|"]
    for kind, (name, state) in CONDITIONS.items():
        meaning = (inspect.getdoc(kind) or "").partition("\n")[0].rstrip(".")
        first = meaning[:1].lower() + meaning[1:]
        classes.append(f"| `{kind.__name__}` | `{name}` | {state} | {first} |")
    others = ["| condition | SQLSTATE | raised |", "|---|---|---|"]
    for condition in special_conditions():
        when = "while the statement runs" if condition.at_runtime else "during analysis"
        others.append(f"| `{condition.name}` | {condition.sql_state} | {when} |")
    return (
        f"## By class\n\n{_lines(classes)}\n\n## Of single mistakes\n\n"
        "These conditions belong to one mistake, whatever the class of the error. Spark's\n"
        "documentation describes each of them.\n\n"
        f"{_lines(others)}\n"
    )


def special_conditions() -> list[ErrorCondition]:
    """Return the conditions that single errors are given, by their names."""
    values = vars(error_conditions).values()
    found = {value for value in values if isinstance(value, ErrorCondition)}
    return sorted(found, key=lambda condition: condition.name)


def insert_report(page: str) -> str:
    """Return the page with new tables between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{report()}\n{END}{after}"


def _lines(lines: list[str]) -> str:
    return "\n".join(lines)


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(insert_report(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(report())
