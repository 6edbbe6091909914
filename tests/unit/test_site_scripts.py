"""The scripts that prepare README.md for PyPI and the site for its address."""

import re
from types import SimpleNamespace

import pytest

from scripts import absolute_links as links
from scripts import site_pages
from tests.documentation import ROOT


def test_no_link_of_the_readme_stays_relative():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    absolute = links.absolute_links(text, "https://example.com/iceberg/", "1.2.3")
    assert "](https://example.com/iceberg/blob/v1.2.3/docs/sql.md#not-there-yet)" in absolute
    assert [link for link in re.findall(r"\]\(([^)]+)\)", absolute) if "://" not in link] == []


def test_a_release_without_a_repository_stops(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(links, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    assert links.main() == 1
    assert "CONTRIBUTING.md" in capsys.readouterr().err


def test_a_release_writes_the_readme(tmp_path, monkeypatch):
    monkeypatch.setattr(links, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nversion = "1.2.3"\nurls = {Repository = "https://example.com/iceberg"}\n'
    )
    (tmp_path / "README.md").write_text("[SQL](docs/sql.md), [Iceberg](https://iceberg.apache.org)")
    assert links.main() == 0
    assert (tmp_path / "README.md").read_text() == (
        "[SQL](https://example.com/iceberg/blob/v1.2.3/docs/sql.md), "
        "[Iceberg](https://iceberg.apache.org)"
    )


@pytest.mark.parametrize(
    ("urls", "expected"),
    [
        ({}, (None, None)),
        (
            {"Repository": "https://example.com/r", "Documentation": "https://example.com/d"},
            ("https://example.com/r", "https://example.com/d"),
        ),
    ],
)
def test_the_site_links_to_the_urls_of_the_project(urls, expected):
    config = SimpleNamespace()
    project = {"name": "iceberg-spark", "version": "1", "license": "Apache-2.0", "urls": urls}
    site_pages.describe(config, project)
    assert (config.repo_url, config.site_url) == expected
    assert config.copyright == "iceberg-spark 1, Apache-2.0 license"
