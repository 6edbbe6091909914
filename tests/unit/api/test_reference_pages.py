"""The documentation's navigation has every page, and its reference every public name."""

import re

import iceberg_spark as ice
from scripts.site_pages import ported_names
from tests.documentation import ROOT

CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
DOCS = ROOT / "docs"


def described_names() -> set[str]:
    texts = [page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md")]
    return set(re.findall(r"^::: iceberg_spark\.(\w+)$", "\n".join(texts), re.MULTILINE))


def test_the_reference_describes_every_public_name():
    assert set(ice.__all__) - described_names() == set()


def test_the_reference_shows_inherited_methods():
    """`append`, `merge` and eight more are methods of a base class of `Table`."""
    assert "inherited_members: true" in CONFIGURATION


def test_names_of_ports_in_signatures_are_links_to_what_they_stand_for():
    names = dict(ported_names())
    assert names["iceberg_spark.api.deferred_table.Inspect"] == "iceberg_spark.api.inspect.Inspect"
    assert all(name.startswith("iceberg_spark.") for name in names.values())


def test_every_page_is_in_the_navigation():
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    in_navigation = set(re.findall(r": (\S+\.md)$", CONFIGURATION, re.MULTILINE))
    missing = {page for page in pages - in_navigation if not page.startswith("decisions/")}
    assert missing == set()
    assert in_navigation <= pages


def test_every_page_starts_with_what_the_reader_can_do_after_it():
    shown_from_the_root = {"index.md", "contributing.md", "changelog.md"}
    pages = [page for page in DOCS.glob("*.md") if page.name not in shown_from_the_root]
    starts = {page.name: page.read_text(encoding="utf-8").split("\n\n")[1] for page in pages}
    assert [name for name, text in starts.items() if not text.startswith("After this page")] == []


def test_broken_anchors_fail_the_build():
    assert "anchors: warn" in CONFIGURATION
    assert "mkdocs build --strict" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_code_of_the_pages_fits_their_width():
    """100 columns are what `docs/stylesheets/site.css` makes room for."""
    pages = [ROOT / "README.md", *DOCS.glob("*.md"), *(DOCS / "api").glob("*.md")]
    blocks = {p.name: re.findall(r"(?ms)^ *```\w.*?```$", p.read_text("utf-8")) for p in pages}
    lines = {
        (name, line) for name, texts in blocks.items() for t in texts for line in t.split("\n")
    }
    assert {(name, line) for name, line in lines if len(line) > 100} == set()
