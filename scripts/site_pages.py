"""Hooks of mkdocs: files of the root as pages of the site, and the version on each page."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_FILES = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
_FILE_WITHOUT_A_PAGE = re.compile(r"\[([^\]]+)\]\((?!docs/|notebooks/|https?:)[^)]+\)")


def on_config(config: Any) -> Any:
    """Show the version at the foot of each page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.copyright = f"{project['name']} {project['version']}, {project['license']} license"
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text. Some pages show a file of the root, with the site's links."""
    file = _FILES.get(page.file.src_uri)
    if file is None:
        return markdown
    text = (ROOT / file).read_text(encoding="utf-8")
    return _FILE_WITHOUT_A_PAGE.sub(r"\1", text).replace("](docs/", "](")
