"""What is reported of a scan: the filter without its values, and never an error."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.api.scan import TableScan
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.scan.scan_report import filter_json

COLUMNS = (
    "id bigint, s string, d date, t timestamp, n double, x decimal(9,2), b binary, p struct<q: int>"
)


@dataclass
class Kept:
    """Keeps what is reported; `fails` says that it breaks."""

    fails: bool = False
    reports: list[Mapping[str, Any]] = field(default_factory=list)

    def take(self, report: Mapping[str, Any]) -> None:
        self.reports.append(report)
        if self.fails:
            raise OSError("no")


@pytest.fixture
def table(tmp_path: Path) -> ice.Table:
    made = ice.create_table(str(tmp_path / "t"), COLUMNS)
    for first in (0, 10):
        made.append(pa.table({"id": pa.array(range(first, first + 3), pa.int64())}))
    return made


def scan(table: ice.Table, kept: Kept, **asked: Any) -> TableScan:
    found = table.scan(**asked)
    return replace(found, loaded=replace(found.loaded, reporter=kept))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("true", True),
        ("id = 12345", {"type": "eq", "term": "id", "value": "(5-digit-int)"}),
        ("id >= -7", {"type": "gt-eq", "term": "id", "value": "(1-digit-int)"}),
        ("n < 0.5", {"type": "lt", "term": "n", "value": "(1-digit-float)"}),
        ("n < 1e300", {"type": "lt", "term": "n", "value": "(301-digit-float)"}),
        ("d > date '2026-01-02'", {"type": "gt", "term": "d", "value": "(date)"}),
        (
            "t <= timestamp '2026-01-02 03:04:05Z'",
            {"type": "lt-eq", "term": "t", "value": "(timestamp)"},
        ),
        ("s <> 'a'", {"type": "not-eq", "term": "s", "value": "(hash-3c2569b2)"}),
        ("s like 'a%'", {"type": "starts-with", "term": "s", "value": "(hash-3c2569b2)"}),
        ("s in ('a')", {"type": "eq", "term": "s", "value": "(hash-3c2569b2)"}),
        ("p.q is not null", {"type": "not-null", "term": "p.q"}),
        ("isnan(n)", {"type": "is-nan", "term": "n"}),
    ],
)
def test_a_filter_is_shown_without_its_values(text: str, said: Any, table: ice.Table):
    assert filter_json(bind(table.schema(), parse_predicate(text))) == said


def test_no_value_of_a_filter_is_in_its_report(table: ice.Table):
    kept = Kept()
    condition = (
        "s in ('secret', 'words') and x > 123.45 and (b = X'CAFE' or s not like 'confid%') "
        "and id not in (987654, 3) and t > timestamp '1999-12-31 00:00:00Z' and s is null"
    )
    scan(table, kept, row_filter=condition).plan_files()
    text = json.dumps(kept.reports[0])
    for value in ("secret", "words", "123.45", "cafe", "confid", "987654", "1999"):
        assert value not in text.lower()


def test_each_way_to_read_reports_once(table: ice.Table):
    for read in ("to_arrow", "to_pandas", "plan_files", "to_arrow_batch_reader"):
        kept = Kept()
        getattr(scan(table, kept, row_filter="id >= 10", selected_fields=("s",)), read)()
        (report,) = kept.reports
        assert report["snapshot-id"] == table.current_snapshot().snapshot_id
        assert report["projected-field-names"] == ["id", "s"]
        assert report["metrics"]["result-data-files"] == {"unit": "count", "value": 1}


def test_a_plan_that_is_only_looked_at_is_no_scan(table: ice.Table):
    kept = Kept()
    scan(table, kept).explain()
    assert kept.reports == []


def test_an_empty_table_has_nothing_to_report(tmp_path: Path):
    kept = Kept()
    scan(ice.create_table(str(tmp_path / "e"), "id int"), kept).to_arrow()
    assert kept.reports == []


def test_a_report_that_fails_does_not_fail_the_scan(table: ice.Table):
    kept = Kept(fails=True)
    assert scan(table, kept).to_arrow().num_rows == 6
    assert len(kept.reports) == 1
