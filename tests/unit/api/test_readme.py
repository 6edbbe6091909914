"""The examples of the documentation that need no Spark, and what it says of properties."""

import datetime as dt
import re
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.spec import properties
from tests.documentation import PAGES, ROOT, blocks, needs_spark, run


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create what the pages read and examples with Spark write: `/tmp/events` and the README's."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    events = ice.create_table(
        str(tmp_path / "events"), "id bigint, ts timestamp", partition_by=["months(ts)"]
    )
    moments = [start + dt.timedelta(days=day) for day in range(1000)]
    events.append(pa.table({"id": range(1000), "ts": pa.array(moments, pa.timestamp("us", "UTC"))}))
    local = ice.load_catalog("local")
    local.create_namespace("shop")
    orders = local.create_table("shop.orders", "id bigint, item string, amount double")
    orders.append(pa.table({"id": [1, 2], "item": ["tea", "milk"], "amount": [4.5, 1.2]}))


ALL_WITH_SPARK = ("docs/settings.md", "docs/sql.md", "docs/tutorial.md")


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ALL_WITH_SPARK])
@pytest.mark.usefixtures("tables")
def test_examples_run(page: str, tmp_path: Path):
    chosen = [block for block in blocks(page) if not needs_spark(block)]
    assert chosen
    run(page, chosen, tmp_path)


JAVAS = frozenset((ROOT / "tests" / "java_table_properties.txt").read_text().split())
"""Every name in Java's TableProperties; tests/oracle compares the list with the class."""


def test_the_first_screens_show_install_a_merge_and_time_travel():
    screens = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:56])
    for part in ("pip install", "ice.enable(spark)", "MERGE INTO", "VERSION AS OF"):
        assert part in screens


def test_the_readme_shows_frames_arrow_and_what_does_not_work_yet():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for part in (".load(", '.mode("append")', ".append(", "| does not work yet |"):
        assert part in text


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_every_known_property_is_in_the_table_of_properties():
    page = (ROOT / "docs" / "properties.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"`([a-z0-9.*-]+)`", page))
    patterns = [re.escape(name).replace(r"\*", ".*") for name in shown]
    patterns += [r"write\.(delete|update|merge)\.(isolation-level|distribution-mode)"]
    known = [
        value
        for name, value in vars(properties).items()
        if name.isupper() and isinstance(value, str) and "." in value
    ]
    known = [f"{key}x" if key.endswith(".") else key for key in known]
    assert len(known) > 50
    assert [k for k in known if not any(re.fullmatch(each, k) for each in patterns)] == []


def test_the_readme_has_no_property_that_nobody_knows():
    page = (ROOT / "docs" / "properties.md").read_text(encoding="utf-8")
    known = {value for value in vars(properties).values() if isinstance(value, str)}
    prefixes = tuple(value for value in known if value.endswith("."))
    shown = set(re.findall(r"`((?:write|commit|read|schema|history|gc)\.[a-z0-9.-]+)`", page))
    unknown = {name for name in shown - known - JAVAS if not name.startswith(prefixes)}
    assert unknown == set()


def test_the_page_of_properties_says_what_becomes_of_each_of_javas():
    page = (ROOT / "docs" / "properties.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"`([a-z0-9.*-]+)`", page))
    missing = {name for name in JAVAS if (f"{name}*" if name.endswith(".") else name) not in shown}
    assert missing == set()
