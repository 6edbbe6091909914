"""The report as HTML: complete, escaped, without script or request, readable in both modes."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.report import page
from iceberg_spark.report.charts import bytes_text, colour_names
from iceberg_spark.report.table_report import table_report
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from tests.report.conftest import HOSTILE

VOID = {"meta", "br", "img", "input", "link", "hr"}


class Outline(HTMLParser):
    """The tags, attributes and texts of a document; tags must be closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)


def outline(table: ice.Table) -> Outline:
    return Outline(table.report().html)


def test_report_has_each_section(hostile):
    assert outline(hostile).texts["h2"] == [
        "What to do", "Growth", "Commits", "Snapshots, branches and tags", "File sizes",
        "Partitions", "Delete debt", "Planning cost", "Schema", "Partitioning", "Properties",
    ]  # fmt: skip


def test_text_of_the_table_is_shown_and_never_markup(hostile):
    found = outline(hostile)
    assert not {"script", "img", "i", "u", "b", "iframe", "a"} & set(found.tags)
    assert not [name for _, name, _ in found.attributes if name.startswith("on")]
    cells = found.texts["td"]
    assert "<i>audit</i> $b_1$" in cells and '" onload="alert(3)' in cells
    assert "<img src=x onerror=alert(2)>" in cells
    assert f"{HOSTILE}=<b>a</b>" in cells
    spans = found.texts["span"]
    assert "~ id long  →  <u>key</u> long" in spans and f"+ {HOSTILE} string" in spans


def test_report_runs_no_script_and_loads_nothing(hostile):
    text = hostile.report().html
    found = Outline(text)
    links = [value for _, name, value in found.attributes if name in ("src", "href", "xlink:href")]
    assert links and all(value.startswith("#") for value in links)
    assert "default-src 'none'" in next(v for t, n, v in found.attributes if n == "content"
                                        and "default-src" in v)  # fmt: skip
    assert "url(http" not in text and "@import" not in text
    ids = [value for _, name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_chart_takes_colours_and_font_from_the_page(hostile):
    text = hostile.report().html
    charts = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert len(charts) == 6
    painted = {colour for chart in charts for colour in re.findall(r"(?:fill|stroke): ([^;\"]+)",
                                                                   chart)}  # fmt: skip
    assert painted <= {"none", *(f"var(--{name})" for name in colour_names())}
    assert "DejaVu" not in text


def test_chart_has_a_description_and_can_be_scrolled_by_the_keyboard(hostile):
    found = outline(hostile)
    labels = [value for _, name, value in found.attributes if name == "aria-label"]
    assert len(labels) == found.tags.count("svg") + found.tags.count("table") and all(labels)
    scrolling = [tag for tag, name, value in found.attributes if (name, value) == ("tabindex", "0")]
    assert len(scrolling) >= found.tags.count("svg") + found.tags.count("table")


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours (WCAG 2.2)."""
    luminances = []
    for colour in (first, second):
        parts = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        luminances.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(luminances) + 0.05) / (min(luminances) + 0.05)


@pytest.mark.parametrize("mode", [0, 1])
def test_colours_have_enough_contrast(mode):
    light, dark = page._STYLE.split("@media (prefers-color-scheme: dark)")
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", (light, dark)[mode]))
    assert {*colour_names(), "page", "card", "muted", "added", "removed"} == set(colours)
    for background in (colours["page"], colours["card"]):
        for text in ("ink", "muted", "added", "removed", "target"):
            assert contrast(colours[text], background) >= 4.5, text
    for shape in ("append", "overwrite", "delete", "replace", "other"):
        assert contrast(colours[shape], colours["page"]) >= 3, shape


def test_empty_table_has_a_report(tmp_path):
    table = ice.create_table(tmp_path / "t", "id bigint")
    texts = outline(table).texts
    assert "No commit yet." in texts["p"] and "No data file." in texts["p"]


def test_odd_histories_have_a_report(tmp_path):
    table = ice.create_table(tmp_path / "t", "id bigint")
    table.append(pa.table({"id": [1]}))
    table.manage_snapshots().create_branch(None, "日本語").create_tag(None, "\x1b[2J").commit()
    head = table.current_snapshot()
    far = replace(head, snapshot_id=1, timestamp_ms=2**62, parent_snapshot_id=head.snapshot_id)
    snapshots = {head.snapshot_id: replace(head, timestamp_ms=-5), 1: far}
    loaded = table._loaded
    metadata = replace(loaded.metadata, snapshots=snapshots)
    for shown in (loaded, replace(loaded, metadata=metadata)):
        html = table_report(shown, ()).html
        assert "日本語" in Outline(html).texts["td"] and "\x1b" not in html


def test_secret_of_a_property_is_hidden(tmp_path, monkeypatch):
    table = ice.create_table(tmp_path / "t", "id bigint", properties={"my.password": "hunter2"})
    html = table.report().html
    assert "my.password" in html and "hunter2" not in html


def test_report_of_a_version_is_always_the_same(hostile):
    assert hostile.report().html == hostile.report().html


def test_size_is_bounded_whatever_the_table_has(tmp_path):
    table = ice.create_table(tmp_path / "t", "id bigint, k bigint", partition_by=["k"])
    files = [
        DataFile(
            DataFileContent.DATA, f"{tmp_path}/t/data/{n}.parquet", FileFormat.PARQUET, (n,), 10,
            1000 + n, partition_spec_id=0,
        )
        for n in range(5000)
    ]  # fmt: skip
    with table.transaction() as tx:
        tx.overwrite_files(add=files)
    with table.update_properties() as update:
        update.set({f"p{number}": "x" * 10_000 for number in range(300)})
    html = table.report().html
    assert "5,000" in html and "100 more are not shown." in html
    assert len(html) < 400_000


def test_notebook_shows_a_frame_without_scripts(hostile):
    report = hostile.report()
    frame = Outline(report._repr_html_())
    assert frame.tags == ["iframe"]
    values = {name: value for _, name, value in frame.attributes}
    assert values["srcdoc"] == report.html and values["sandbox"] == ""


def test_report_is_saved(hostile, tmp_path):
    report = hostile.report()
    report.save(tmp_path / "t.html")
    assert (tmp_path / "t.html").read_text(encoding="utf-8") == report.html
    assert repr(report) == f"Report of {hostile.identifier}: .save('report.html') writes it"


def test_advice_says_what_each_step_gains(tmp_path):
    table = ice.create_table(tmp_path / "t", "id bigint")
    for number in range(6):
        table.append(pa.table({"id": [number]}))
    cells = outline(table).texts["td"]
    assert cells[0] == "rewrite_data_files()"
    assert cells[2] == "Data files to open: about 1 instead of 6."


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KB"), (3 << 20, "3 MB"), (1 << 60, "1,024 PB")],
)
def test_bytes_are_shown_in_a_short_unit(size, text):
    assert bytes_text(size) == text
