"""A catalog's plan becomes the same `ScanPlan` that this library plans itself."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from iceberg_spark.catalog.planned_io import PlannedPages, ServerPlannedIO
from iceberg_spark.errors import CorruptFileError, InvalidInputError, UnsupportedError
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import narrow_plan, plan
from iceberg_spark.scan.report import explain
from iceberg_spark.spec.data_file import DataFileContent, FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from tests.builders import branch, metadata, scan_of, schema, snapshot
from tests.unit.catalog.rest.planning_server import task
from tests.unit.scan.tables import IO

COLUMNS = schema(("id", "long"), ("s", "string"), ("x", "double"), ("d", "date"))
Page = dict[str, Any]


@dataclass
class FakePlanner:
    """Answers with pages; `error` is raised by requests of one snapshot's own appends."""

    pages: list[Page] = field(default_factory=list)
    start: list[Page] | InvalidInputError = field(default_factory=list)
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    table: str = "db.t"

    def plan(self, request: Mapping[str, Any]) -> PlannedPages:
        self.asked.append(request)
        if request.get("start-snapshot-id", 0) != request.get("end-snapshot-id", 0):
            return PlannedPages(tuple(self.pages))
        if "start-snapshot-id" not in request:
            return PlannedPages(tuple(self.pages))
        if isinstance(self.start, InvalidInputError):
            raise self.start
        return PlannedPages(tuple(self.start))


def table(partition_by: tuple[str, ...] = (), snapshots: int = 1, **rest: Any) -> TableMetadata:
    base = metadata(COLUMNS, partition_by, location="/w/t", **rest)
    made = {
        n: snapshot(n, n, schema_id=0, parent_snapshot_id=n - 1 or None)
        for n in range(1, snapshots + 1)
    }
    return replace(
        base, snapshots=made, refs={"main": branch(snapshots)}, current_snapshot_id=snapshots,
        last_sequence_number=snapshots,
    )  # fmt: skip


def planned(
    base: TableMetadata, *pages: Page, planner: FakePlanner | None = None, **rest: Any
) -> ScanPlan:
    planner = planner or FakePlanner()
    planner.pages = list(pages)
    io = ServerPlannedIO(IO, planner)
    return plan(base, io, replace(scan_of(base, **rest), io=io))


def tasks(*several: Page, deletes: list[Page] | None = None) -> Page:
    return {"file-scan-tasks": list(several), "delete-files": deletes}


def deleting(name: str, content: str = "position-deletes", **rest: Any) -> Page:
    node = task(name)["data-file"]
    return {**node, "content": content, **rest}


def residuals(found: ScanPlan) -> list[str]:
    return [to_text(one.residual) if one.residual != ALWAYS_TRUE else "" for one in found]


def test_a_task_has_all_that_readers_need():
    file = {"split-offsets": [4, 50], "first-row-id": 7, "file-format": "ORC"}
    (one,) = planned(table(), tasks(task("a", rows=5, file=file)))
    assert (one.file_path, one.file_format, one.record_count) == (
        "/w/t/data/a.parquet", FileFormat.ORC, 5,
    )  # fmt: skip
    assert (one.spec_id, one.partition, one.first_row_id) == (0, (), 7)
    assert one.is_whole_file and one.file_size_in_bytes == 100 and one.delete_files == ()


@pytest.mark.parametrize("partition", [["2024-01-31", None], {"1000": "2024-01-31"}])
def test_partitions_are_canonical_values(partition):
    base = table(("d", "bucket(4, id)"))
    found = planned(base, tasks(task("a", file={"partition": partition})))
    assert found[0].partition == (19753, None)


def test_the_scans_own_filter_is_reduced_by_the_partition():
    base = table(("d",))
    one, two = (task(n, file={"partition": [f"2024-01-0{n}"]}) for n in ("1", "2"))
    found = planned(base, tasks(one, two), row_filter="d = DATE'2024-01-01' AND id > 5")
    assert residuals(found) == ["id > 5"]  # the other file has no matching row
    assert found.record_count is None
    assert planned(base, tasks(one), row_filter="d = DATE'2024-01-01'").record_count == 3


def test_what_a_catalog_adds_to_the_filter_is_checked_too():
    policy = {"type": "eq", "term": "s", "value": "mine"}
    of_filter = {"type": "gt", "term": "id", "value": 5}
    both = {"type": "and", "left": of_filter, "right": policy}
    residual = [task("a", **{"residual-filter": node}) for node in (both, of_filter, True, policy)]
    found = planned(table(), tasks(*residual, task("b")), row_filter="id > 5")
    both_texts = "id > 5 AND s = 'mine'"
    assert residuals(found) == [both_texts, "id > 5", "id > 5", both_texts, "id > 5"]
    assert {found.residuals[index] for index in found.added_residuals} == {found[0].residual}
    policy_alone = planned(table(), tasks(task("a", **{"residual-filter": policy})))
    assert policy_alone.record_count is None


def test_a_filter_that_is_sent_in_other_words_is_not_checked_twice():
    planner = FakePlanner()
    planned(table(), row_filter="x > 0.0D AND id != 4", planner=planner)
    (request,) = planner.asked
    same = task("a", **{"residual-filter": request["filter"]})
    found = planned(table(), tasks(same), row_filter="x > 0.0D AND id != 4")
    assert residuals(found) == ["x > 0.0 AND id != 4"]
    assert not found.added_residuals


def test_deletes_are_those_that_a_task_refers_to():
    vector = deleting(
        "v", **{"file-format": "puffin", "content-offset": 4, "content-size-in-bytes": 40,
                "referenced-data-file": "/w/t/data/a.parquet"},
    )  # fmt: skip
    keys = deleting("k", "equality-deletes", **{"equality-ids": [1]})
    first = tasks(
        task("a", **{"delete-file-references": [1, 0]}), task("b"), deletes=[vector, keys]
    )
    second = tasks(task("c", **{"delete-file-references": [0]}), deletes=[keys])
    found = planned(table(), first, second)
    of_a, of_b, of_c = (one.delete_files for one in found)
    assert {one.is_vector for one in of_a} == {True, False} and of_b == ()
    assert [one.equality_ids for one in of_c] == [(1,)]
    assert of_c[0] in of_a and len(found.deletes) == 2
    assert found.metrics.deletion_vectors == found.metrics.equality_delete_files == 1
    assert found.metrics.total_delete_file_size_in_bytes == 140
    assert of_c[0].content is DataFileContent.EQUALITY_DELETES
    assert of_c[0].data_sequence_number > found[2].data_sequence_number


def test_a_vector_is_its_own_files_whatever_number_it_has():
    def vector(name: str, offset: int) -> Page:
        return deleting("v", **{
            "file-format": "puffin", "content-offset": offset, "content-size-in-bytes": 40,
            "referenced-data-file": f"/w/t/data/{name}.parquet",
        })  # fmt: skip

    both = [vector("a", 4), vector("b", 44)]
    wrong = [task(name, **{"delete-file-references": [1]}) for name in "ab"]
    found = planned(table(), tasks(*wrong, deletes=both))
    assert [one.delete_files[0].content_offset for one in found] == [4, 44]
    with pytest.raises(CorruptFileError, match=r"refers to the deletion vector of .*a\.parquet"):
        planned(table(), tasks(wrong[1], deletes=[both[0]] * 2))


def test_a_request_names_columns_as_the_snapshot_does():
    base = table()
    renamed = schema(("key", "long"), ("s", "string"), ("x", "double"), ("d", "date"), ("n", "int"))
    base = replace(base, schemas={0: base.schema, 1: replace_id(renamed, 1)}, current_schema_id=1)
    planner = FakePlanner()
    planned(base, row_filter="key = 5 AND n = 6 AND s = 'a'", planner=planner)
    (request,) = planner.asked
    assert request["select"] == ["id", "s", "x", "d"]
    assert request["filter"] == {"type": "eq", "term": "s", "value": "a"}
    assert request["use-snapshot-schema"] is True and request["snapshot-id"] == 1


def replace_id(columns: Any, schema_id: int) -> Any:
    return type(columns)(*columns.fields, schema_id=schema_id)


def test_an_empty_table_asks_for_nothing():
    planner = FakePlanner()
    base = metadata(COLUMNS, location="/w/t")
    assert len(planned(base, planner=planner)) == 0 and planner.asked == []


@pytest.mark.parametrize("inclusive", [True, False])
def test_the_first_snapshot_of_a_range_is_exclusive(inclusive):
    first = tasks(task("of-1"))
    start = [first] if inclusive else InvalidInputError("not an ancestor")
    planner = FakePlanner(start=start)
    pages = [first, tasks(task("of-2"))] if inclusive else [tasks(task("of-2"))]
    found = planned(
        table(snapshots=2), *pages, planner=planner, start_snapshot_id=1, end_snapshot_id=2
    )
    assert [one.file_path for one in found] == ["/w/t/data/of-2.parquet"]
    assert planner.asked[0]["start-snapshot-id"] == 1 and planner.asked[0]["end-snapshot-id"] == 2
    assert "snapshot-id" not in planner.asked[0]


@pytest.mark.parametrize(
    "page",
    [
        {"file-scan-tasks": [{}]},
        {"file-scan-tasks": 5},
        tasks(task("a", file={"spec-id": 9})),
        tasks(task("a", file={"partition": [1]})),
        tasks(task("a", file={"file-format": "csv"})),
        tasks(task("a", file={"record-count": "many"})),
        tasks(task("a", **{"delete-file-references": [0]})),
        tasks(task("a", **{"delete-file-references": [-1]}), deletes=[deleting("d")]),
        tasks(task("a", **{"delete-file-references": [0]}), deletes=[deleting("d", "data-lake")]),
        tasks(task("a", **{"delete-file-references": [0]}),
              deletes=[deleting("v", **{"file-format": "puffin"})]),
        tasks(task("a", **{"residual-filter": {"type": "eq", "term": "id", "value": "x"}})),
    ],
)  # fmt: skip
def test_a_malformed_plan_is_an_error_that_names_the_table(page):
    with pytest.raises(CorruptFileError):
        planned(table(), page, row_filter="id > 5")


def test_a_filter_that_is_not_known_is_never_left_out():
    function = {"type": "eq", "left": {"type": "apply", "function": "mask"}, "right": 1}
    with pytest.raises(UnsupportedError, match="function"):
        planned(table(), tasks(task("a", **{"residual-filter": function})))


def test_what_only_manifests_have_is_refused():
    base = table(format_version=3)
    with pytest.raises(UnsupportedError, match="_last_updated_sequence_number"):
        planned(base, tasks(task("a")), metadata_columns=("_last_updated_sequence_number",))
    io = ServerPlannedIO(IO, FakePlanner())
    with pytest.raises(UnsupportedError, match="change or rewrite rows"):
        plan(base, io, scan_of(base), whole_files=True)
    with pytest.raises(UnsupportedError, match="start_snapshot_id"):
        plan(base, io, scan_of(base), added_by=())


def test_a_plan_says_who_planned_it():
    found = planned(table(), tasks(task("a")))
    assert found.is_by_catalog and "planned by      the catalog" in explain(found)
    assert not math.isnan(found.metrics.planning_seconds)


def test_another_condition_leaves_out_files_by_their_partitions_without_a_request():
    base = table(("d",))
    days = [task(n, file={"partition": [f"2024-01-0{n}"]}) for n in "123"]
    planner = FakePlanner()
    found = planned(base, tasks(*days), planner=planner, row_filter="id > 5")
    condition = scan_of(base, row_filter="d >= DATE'2024-01-02' AND id > 7").row_filter
    left = narrow_plan(found, condition)
    assert left is not None and residuals(left) == ["id > 5", "id > 5"]
    assert [one.file_path[-9:] for one in left] == ["2.parquet", "3.parquet"]
    assert len(planner.asked) == 1
    assert len(narrow_plan(planned(base), condition) or ()) == 0
