"""Shows the README as the site's first page; mkdocs calls this."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parent.parent / "README.md"
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?!docs/|https?:)[^)]+\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return a page's text: the README's for the first one, with links as the site has them."""
    if page.file.src_uri != "index.md":
        return markdown
    text = README.read_text(encoding="utf-8").replace(
        "(docs/decisions)", "(docs/decisions/README.md)"
    )
    return _OUTSIDE.sub(r"\1", text).replace("](docs/", "](")
