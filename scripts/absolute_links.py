"""Make the links of README.md absolute, so that they work on PyPI. The release workflow runs it.

python -m scripts.absolute_links   # writes README.md, by the URLs of pyproject.toml
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_RELATIVE = re.compile(r"\]\((?!https?:|#|mailto:)([^)]+)\)")


def absolute_links(text: str, repository: str, version: str) -> str:
    """Return a text of Markdown with links into the repository, at the tag of a version.

    `[SQL](docs/sql.md#start)` -> `[SQL](https://.../blob/v0.1.0/docs/sql.md#start)`.
    """
    base = f"{repository.rstrip('/')}/blob/v{version}/"
    return _RELATIVE.sub(lambda match: f"]({base}{match.group(1)})", text)


def main() -> int:
    """Write README.md, and return the exit status."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project.get("urls", {}).get("Repository")
    if not repository:
        sys.stderr.write(
            "pyproject.toml has no Repository in [project.urls]: links of README.md would not work "
            "on PyPI. See CONTRIBUTING.md, 'Before the first release'\n"
        )
        return 1
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(absolute_links(text, repository, project["version"]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
