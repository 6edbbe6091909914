"""Hooks of mkdocs: files of the root as pages, the version on each page, links in signatures."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_FILES = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
_PORTS = sorted((ROOT / "iceberg_spark" / "api").glob("deferred*.pyi"))
_FILE_WITHOUT_A_PAGE = re.compile(r"\[([^\]]+)\]\((?!docs/|notebooks/|https?:)[^)]+\)")


def on_config(config: Any) -> Any:
    """Take the version and the addresses of the site from pyproject.toml."""
    describe(
        config, tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    )
    return config


def describe(config: Any, project: Mapping[str, Any]) -> None:
    """Show the version at the foot of each page, and link to the source if its URL is known."""
    config.copyright = f"{project['name']} {project['version']}, {project['license']} license"
    urls = project.get("urls", {})
    config.repo_url, config.repo_name = urls.get("Repository"), "Source"
    config.site_url = urls.get("Documentation")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text. Some pages show a file of the root, with the site's links."""
    file = _FILES.get(page.file.src_uri)
    if file is None:
        return markdown
    text = (ROOT / file).read_text(encoding="utf-8")
    return _FILE_WITHOUT_A_PAGE.sub(r"\1", text).replace("](docs/", "](")


def on_env(env: Any, *, config: Any, **_: Any) -> Any:
    """Let names that a signature takes from a port, as `deferred.ChangedRows`, be links too."""
    references = config.plugins["autorefs"]
    for alias, name in ported_names():
        try:
            url, _title = references.get_item_url(name)
        except KeyError:  # the reference does not describe it
            continue
        references.register_url(alias, url)
    return env


def ported_names() -> Iterator[tuple[str, str]]:
    """Yield each name of a port with the name of what it stands for."""
    for port in _PORTS:
        for node in ast.parse(port.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for imported in node.names:
                    called = f"iceberg_spark.api.{port.stem}.{imported.asname or imported.name}"
                    yield called, f"{node.module}.{imported.name}"
