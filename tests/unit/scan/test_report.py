"""A plan in words: what is read, what was skipped, and why."""

from pathlib import Path

import pytest

from iceberg_spark.scan.report import explain, size_text
from tests.unit.scan.entries import bounds, data, position
from tests.unit.scan.tables import commit, new_table, planned


def test_it_says_what_is_read_and_what_was_skipped(tmp_path: Path) -> None:
    files = [data("a", 1, [1], **bounds(s=("a", "c"))), data("b", 1, [1], **bounds(s=("x", "z")))]
    base = commit(new_table(tmp_path, ["id"]), files, [data("c", 1, [9])])
    base = commit(base, [position("p", 2, [1])], operation="delete")
    text = explain(planned(base, "id = 1 and s < 'd'", selected_fields=["id", "s"]))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[:-1] == [
        f"Scan of {tmp_path}",
        "snapshot 2 (format v2)",
        "columns id, s (2 read, the table has 4)",
        "filter id = 1 AND s < 'd'",
        "data manifests 1 of 2 opened",
        "1 skipped by the manifest list (1 file in them)",
        "data files 1 of 3 to read, 100 B",
        "1 skipped by column bounds and counts",
        "100 B skipped in opened manifests",
        "deletes 1 of 1 delete manifests opened; 1 delete file looked up, 0 skipped",
        "1 position delete file and 0 equality delete files apply to 1 data file, 100 B",
        "rows at most 10",
        "checked one by one in 1 file: s < 'd'",
    ]
    assert lines[-1].startswith("planned in")


def test_it_says_when_the_rows_are_known(tmp_path: Path) -> None:
    text = explain(planned(commit(new_table(tmp_path), [data("a", record_count=1234)])))
    assert "1,234, known from metadata" in text


def test_it_says_when_the_table_is_empty(tmp_path: Path) -> None:
    assert "none: the table is empty" in explain(planned(new_table(tmp_path)))


def test_it_says_which_appends_are_read(tmp_path: Path) -> None:
    base = commit(commit(new_table(tmp_path), [data("a")]), [data("b")])
    assert "appended after 1 up to 2" in explain(planned(base, start_snapshot_id=1))


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1536, "1.5 KiB"),
        (5 * 2**30, "5.0 GiB"),
        (2**60, "1,024.0 PiB"),
    ],
)
def test_sizes_have_binary_units(size: int, text: str) -> None:
    assert size_text(size) == text


def test_a_notebook_shows_the_files_escaped(tmp_path: Path) -> None:
    shown = planned(commit(new_table(tmp_path), [data("<a>")]))._repr_html_()
    assert "1 data files" in shown
    assert "&lt;a&gt;" in shown
    assert "<a>" not in shown
