"""Opens a table report in Chromium: light and dark, wide and narrow (`make report-browser`).

The report must write nothing to the console, request nothing but itself, fit the width of a phone,
and let the keyboard reach what scrolls. Screenshots go to the folder that is named, for a person.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from playwright.sync_api import Browser, sync_playwright

import iceberg_spark as ice

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
MARKUP = "<script>alert(1)</script>"
FOCUS = "document.activeElement.className"
WIDTH = "document.documentElement.scrollWidth"


def main() -> int:
    """Check one report in each mode and width, and return the exit status."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.html"
    example_table(folder).report().save(report)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(OPTIONS))
        problems = [
            problem
            for scheme, width in itertools.product(("light", "dark"), (1280, 400))
            for problem in problems_of(browser, report, scheme, width)
        ]
        browser.close()
    sys.stdout.write("\n".join([*problems, f"{len(problems)} problems; see {folder}"]) + "\n")
    return 1 if problems else 0


def example_table(folder: Path) -> ice.Table:
    """Return a table whose report has every section, with markup for names."""
    table = ice.create_table(
        tempfile.mkdtemp(dir=folder), f"id bigint, `{MARKUP}` string",
        partition_by=[f"`{MARKUP}`"], properties={"write.delete.mode": "merge-on-read"},
    )  # fmt: skip
    for start in range(0, 200, 10):
        values = [f"<b>{number % 2}</b>" for number in range(10)]
        table.append(pa.table({"id": range(start, start + 10), MARKUP: values}))
    table.delete("id IN (1, 2, 13)")
    table.manage_snapshots().create_branch(None, "<i>audit</i>").create_tag(None, "eoy").commit()
    return table


def problems_of(browser: Browser, report: Path, scheme: str, width: int) -> list[str]:
    """Open the report in a new page, and return what is wrong with it."""
    dark = scheme == "dark"
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
    )
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: messages.append(f"error: {error}"))
    page.on("dialog", lambda dialog: messages.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    page.screenshot(path=report.with_name(f"{scheme}-{width}.png"), full_page=True)
    if requests != [report.as_uri()]:
        messages.append(f"requests: {requests}")
    if page.evaluate(WIDTH) > width:
        messages.append("the page is wider than the window")
    page.keyboard.press("Tab")
    if page.evaluate(FOCUS) != "scroll":
        messages.append("the keyboard does not reach what scrolls")
    page.close()
    return [f"{scheme}, {width} pixels: {message}" for message in messages]


if __name__ == "__main__":
    sys.exit(main())
