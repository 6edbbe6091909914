"""Spark reads tables whose scans Java's REST server plans, by both engines and in SQL."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.catalog.planned_io import PlannedPages, ServerPlannedIO
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spark.reading.plan_frame import plan_frame
from tests.servers.rest_server import RestServer

pytestmark = pytest.mark.xdist_group("rest")


@dataclass(frozen=True, slots=True)
class Served:
    """A table in a namespace of the catalog `served`, and the same one planned here."""

    spark: Any
    name: str
    local: Table

    @property
    def options(self) -> dict[str, str]:
        return {"type": "rest", "uri": self.spark.conf.get("spark.sql.catalog.served.uri")}

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(text.replace("TABLE", self.name)).collect()]


@pytest.fixture(params=["planned", "planned_async_paged"])
def served(request: pytest.FixtureRequest, any_spark: Any, rest: RestServer) -> Iterator[Served]:
    settings = {"served.type": "rest", "served.uri": rest.uri}
    for key, value in settings.items():
        any_spark.conf.set(f"spark.sql.catalog.{key}", value)
    catalog = ice.load_catalog("served", type="rest", uri=rest.uri)
    plain, planned = (f"{kind}{uuid.uuid4().hex[:8]}" for kind in ("d", f"{request.param}_"))
    catalog.create_namespace(plain)
    catalog.create_namespace(planned)
    ice.enable(any_spark)
    any_spark.sql(
        f"CREATE TABLE served.{plain}.t (id BIGINT, s STRING, d INT) USING iceberg "
        "PARTITIONED BY (d) TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
    )
    for d in range(3):
        any_spark.sql(
            f"INSERT INTO served.{plain}.t SELECT id, CAST(id % 3 AS STRING), {d} "
            f"FROM range({d * 10}, {d * 10 + 10})"
        )
    any_spark.sql(f"DELETE FROM served.{plain}.t WHERE id IN (3, 14)")
    local = catalog.load_table(f"{plain}.t")
    catalog.register_table(f"{planned}.t", local.metadata_location)
    yield Served(any_spark, f"served.{planned}.t", local)
    ice.disable(any_spark)
    for key in settings:
        any_spark.conf.unset(f"spark.sql.catalog.{key}")


def test_queries_with_conditions_joins_and_aggregates(served):
    assert served.rows("SELECT count(*) FROM TABLE") == [(28,)]
    assert served.rows("SELECT count(*), min(id), max(s) FROM TABLE WHERE d = 1") == [(9, 10, "2")]
    assert served.rows("SELECT s FROM TABLE WHERE id = 15 OR id = 3") == [("0",)]
    joined = "SELECT count(*) FROM TABLE a JOIN TABLE b ON a.id = b.id + 10 WHERE b.d = 0"
    assert served.rows(joined) == [(8,)]
    assert served.rows("SELECT min(id), max(id), count(id) FROM TABLE") == [(0, 29, 28)]
    keys = "SELECT count(*) FROM TABLE WHERE id IN (SELECT id FROM range(5, 12))"
    assert served.rows(keys) == [(7,)]


def test_versions_branches_and_metadata_columns(served):
    ids = [one.snapshot_id for one in served.local.snapshots()]
    assert served.rows(f"SELECT count(*) FROM TABLE VERSION AS OF {ids[1]}") == [(20,)]
    assert served.rows("SELECT count(DISTINCT _file), max(_pos) FROM TABLE") == [(3, 9)]
    assert served.rows("SELECT count(*) FROM TABLE VERSION AS OF 'main'") == [(28,)]


def test_frames_of_both_engines(served):
    catalog = ice.load_catalog("served", **served.options)
    table = catalog.load_table(served.name.removeprefix("served."))
    for engine in ("native", "arrow"):
        frame = table.scan("id > 12").to_df(served.spark, engine=engine)
        assert frame.count() == 16
        assert frame.where("id < 15").count() == 1
        assert frame.where("d = 2").count() == 10
        assert frame.where("d = 2 AND id < 22").agg({"id": "max"}).collect()[0][0] == 21
        assert sorted(row.id for row in frame.select("id").collect())[:3] == [13, 15, 16]
    pinned = table.scan("s = '1'", selected_fields=("id",)).to_df(served.spark)
    assert pinned.columns == ["id"] and pinned.count() == 10


def test_loads_by_options(served):
    ids = [one.snapshot_id for one in served.local.snapshots()]
    reader = served.spark.read.format("pyiceberg-lite")
    assert reader.load(served.name).count() == 28
    appended = reader.option("start-snapshot-id", ids[0]).option("end-snapshot-id", ids[2])
    assert appended.load(served.name).count() == 20
    changes = served.spark.read.format("pyiceberg-lite").load(f"{served.name}#changes")
    assert changes.where("_change_type = 'DELETE'").count() == 2


def test_equality_deletes_are_applied_file_by_file(served):
    served.local.refresh().upsert(served.local.scan("id = 5").to_arrow().slice(0, 1), ["id", "d"])
    newest = served.local.refresh().metadata_location
    name = f"{served.name.split('.')[1]}.u"
    ice.load_catalog("served", **served.options).register_table(name, newest)
    assert served.spark.sql(f"SELECT count(*) FROM served.{name}").collect()[0][0] == 28
    assert served.spark.sql(f"SELECT id FROM served.{name} WHERE id = 5").count() == 1


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM TABLE WHERE id = 5",
        "UPDATE TABLE SET s = 'x' WHERE id = 5",
        "MERGE INTO TABLE t USING (SELECT 5L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "CALL served.system.rewrite_data_files('TABLE')",
    ],
)
def test_row_changes_say_what_cannot_be_done(served, statement):
    with pytest.raises(Exception, match="scan-planning-mode is 'server'") as raised:
        served.spark.sql(statement.replace("TABLE", served.name)).collect()
    assert isinstance(raised.value, UnsupportedError) or "UNSUPPORTED" in str(raised.value).upper()


def test_appends_and_merges_from_such_tables(served):
    served.spark.sql(f"INSERT INTO {served.name} VALUES (100, 'x', 9)")
    assert served.rows("SELECT id FROM TABLE WHERE d = 9") == [(100,)]
    target = f"served.{served.local.identifier}"
    served.spark.sql(
        f"MERGE INTO {target} t USING (SELECT * FROM {served.name} WHERE id > 25) s "
        "ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    )
    assert served.spark.sql(f"SELECT max(id), count(*) FROM {target}").collect()[0] == (100, 25)


class Policies:
    """Plans a table's files as the catalog of a policy that shows the rows of one value only."""

    table = "db.t"

    def __init__(self, table: Table) -> None:
        self.tasks = [
            {
                "data-file": {
                    "content": "data", "file-path": task.file_path, "file-format": "parquet",
                    "spec-id": 0, "partition": [], "record-count": task.record_count,
                    "file-size-in-bytes": task.file_size_in_bytes,
                },
                "residual-filter": {"type": "eq", "term": "s", "value": "mine"},
            }
            for task in table.scan().plan_files()
        ]  # fmt: skip

    def plan(self, _: object) -> PlannedPages:
        return PlannedPages(({"file-scan-tasks": self.tasks},))


def test_rows_that_a_policy_hides_are_never_shown(any_spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, s string")
    table.append(pa.table({"id": [1, 2, 3], "s": ["mine", "other", None]}))
    io = ServerPlannedIO(table.io, Policies(table))
    for where, columns in ((None, ("*",)), ("id < 3", ("id",))):
        request = ScanRequest(row_filter=where, selected_fields=columns)
        planned = plan(table.metadata, io, scan_context(table.metadata, request, io))
        for filters in (True, False):  # a query of SQL filters by its own conditions
            frame = plan_frame(planned, any_spark, filters=filters)
            assert [row.id for row in frame.collect()] == [1]
            assert frame.count() == 1 and planned.record_count is None
    with pytest.raises(UnsupportedError, match="filter that the catalog adds"):
        plan_frame(planned, any_spark, engine="native")
