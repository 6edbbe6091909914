"""Shows the README as the site's first page, and the version on each page; mkdocs calls these."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_FILE_WITHOUT_A_PAGE = re.compile(r"\[([^\]]+)\]\((?!docs/|notebooks/|https?:)[^)]+\)")


def on_config(config: Any) -> Any:
    """Show the version at the foot of each page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.copyright = f"{project['name']} {project['version']}, {project['license']} license"
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text. That of the first page is the README, with the site's links."""
    if page.file.src_uri != "index.md":
        return markdown
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return _FILE_WITHOUT_A_PAGE.sub(r"\1", text).replace("](docs/", "](")
