"""Scans that Java's REST server plans: at once, later, and in pages (`RestServer.Planning`)."""

import datetime as dt
import math
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table, TableCatalog
from iceberg_spark.errors import UnsupportedError
from tests.servers.fault_proxy import Fault, fault_proxy
from tests.servers.rest_server import RestServer

pytestmark = pytest.mark.xdist_group("rest")
MODES = ("planned", "planned_async", "planned_paged", "planned_async_paged")
COLUMNS = "id bigint, s string, d date, f double"
FILTERS = [
    "id > 11", "id != 11", "id IN (1, 21, 99)", "id NOT IN (1, 21)", "id IS NULL",
    "d = DATE'2024-01-02'", "d > DATE'2024-01-02' OR id < 2", "NOT (d = DATE'2024-01-01')",
    "s LIKE '1%'", "s NOT LIKE '1%'", "f > 1", "f >= 0", "f = 0", "f < 0", "f != 0",
    "isnan(f)", "NOT isnan(f)", "f IS NULL", "d >= DATE'2024-01-02' AND f <= 0 AND s != '12'",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Both:
    """One table twice: planned in this process, and registered where the server plans."""

    mode: str
    catalog: TableCatalog
    local: Table

    @property
    def served(self) -> Table:
        """The newest version, planned by the server."""
        name = f"{self.mode}_{uuid.uuid4().hex[:8]}"
        self.catalog.create_namespace(name)
        location = self.local.refresh().metadata_location
        return self.catalog.register_table(f"{name}.t", location)

    def same(self, where: str | None = None, **scan: Any) -> list[tuple[Any, ...]]:
        """The rows of a scan, which are the same by both."""
        planned = self.served.scan(where, **scan)
        assert planned.plan_files().is_by_catalog
        rows = by_value(planned.to_arrow())
        assert rows == by_value(self.local.scan(where, **scan).to_arrow()), where
        return rows


def by_value(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows that compare, in one order: NaN is a text."""
    rows = (tuple(row.values()) for row in table.to_pylist())
    texts = (tuple("NaN" if v != v else v for v in row) for row in rows)  # noqa: PLR0124
    return sorted(texts, key=repr)


def new_table(rest: RestServer, mode: str, columns: str = COLUMNS, **rest_of: Any) -> Both:
    catalog = ice.load_catalog("c", type="rest", uri=rest.uri)
    space = f"d{uuid.uuid4().hex[:8]}"
    catalog.create_namespace(space)
    return Both(mode, catalog, catalog.create_table(f"{space}.t", columns, **rest_of))


def rows(first: int, day: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([first, first + 1, None], pa.int64()),
            "s": [str(first), str(first + 1), None],
            "d": [dt.date(2024, 1, day)] * 3,
            "f": [math.nan, -0.0 if day % 2 else 0.0, float(day)],
        }
    )


@pytest.fixture(scope="module", params=MODES)
def both(request: pytest.FixtureRequest, rest: RestServer) -> Both:
    made = new_table(rest, request.param, partition_by="d")
    for day in range(1, 5):
        made.local.append(rows(10 * (day - 1), day))
    return made


@pytest.mark.parametrize("where", FILTERS)
def test_filters_leave_the_same_rows(both, where):
    both.same(where)


def test_files_are_left_out_by_the_server(both):
    served = both.served
    assert len(served.scan().plan_files()) == 4
    assert len(served.scan("d > DATE'2024-01-02'").plan_files()) == 2
    assert len(served.scan("id >= 30").plan_files()) == 1
    assert served.scan("d > DATE'2024-01-02'").plan_files().record_count == 6


def test_columns_and_metadata_columns(both):
    both.same(selected_fields=("s",))
    found = both.same("id > 10", selected_fields=("s", "_file", "_pos"))
    assert len(found) == 5
    assert both.served.scan(selected_fields=("id",)).to_arrow().column_names == ["id"]


def test_snapshots_times_branches_and_ranges(both):
    local = both.local
    ids = [one.snapshot_id for one in local.snapshots()]
    assert len(both.same(snapshot_id=ids[1])) == 6
    assert len(both.same("id < 10", snapshot_id=ids[2])) == 2
    assert len(both.same(start_snapshot_id=ids[0], end_snapshot_id=ids[2])) == 6
    assert len(both.same("id = 20", start_snapshot_id=ids[0])) == 1
    assert both.same(start_snapshot_id=ids[3]) == []
    local.manage_snapshots().create_branch(ids[2], "side").create_tag(ids[0], "first").commit()
    assert len(both.same(branch="side")) == 9
    assert len(both.same(tag="first")) == 3


@pytest.mark.parametrize("mode", MODES)
def test_deletes_of_every_kind(rest, mode):
    made = new_table(
        rest, mode, partition_by="d", properties={"write.delete.mode": "merge-on-read"}
    )
    table = made.local
    for day in range(1, 4):
        table.append(rows(10 * (day - 1), day))
    table.delete("id IN (0, 11)")
    made.same()
    change = pa.table(
        {
            "id": pa.array([1, 50], pa.int64()),
            "s": ["new", "new"],
            "d": [dt.date(2024, 1, 1), dt.date(2024, 1, 9)],
            "f": [1.0, 2.0],
        }
    )
    table.upsert(change, ["id", "d"])
    table.append(rows(0, 1))
    found = made.same()
    assert len(found) == 9 - 2 - 1 + 2 + 3
    both_kinds = made.served.scan().plan_files().metrics
    assert both_kinds.equality_delete_files and both_kinds.position_delete_files
    made.same("id < 5")
    made.same("s = 'new'")


@pytest.mark.parametrize("mode", MODES)
def test_deletion_vectors_and_row_ids(rest, mode):
    properties = {"write.delete.mode": "merge-on-read"}
    made = new_table(rest, mode, properties={**properties, "format-version": "3"})
    made.local.append(rows(0, 1))
    made.local.append(rows(10, 2))
    made.local.delete("id IN (0, 11)")
    assert len(made.same(selected_fields=("id", "_row_id"))) == 4
    assert made.served.scan().plan_files().metrics.deletion_vectors == 2
    assert made.served.scan().plan_files().record_count == 4
    with pytest.raises(UnsupportedError, match="_last_updated_sequence_number"):
        made.served.scan(selected_fields=("_last_updated_sequence_number",)).to_arrow()


@pytest.mark.parametrize("mode", MODES)
def test_evolved_schemas_and_specs(rest, mode):
    made = new_table(rest, mode)
    table = made.local
    table.append(rows(0, 1))
    table.update_schema().rename_column("s", "text").add_column("n", "int").commit()
    made.same("text = '0'")
    made.same("n IS NULL")
    table.update_spec().add_field("day(d)").add_field("bucket(3, id)").commit()
    table.append(rows(10, 2).rename_columns(["id", "text", "d", "f"]))
    table.update_schema().delete_column("f").commit()
    made.same()
    made.same("id = 10 AND d = DATE'2024-01-02'")
    made.same("id = 1 OR n = 5")
    first = table.snapshots()[0].snapshot_id
    assert len(made.same("s = '0' AND f IS NOT NULL", snapshot_id=first)) == 1


@pytest.mark.parametrize("mode", MODES)
def test_partitions_of_every_type(rest, mode):
    made = new_table(
        rest, mode,
        "b boolean, i int, l bigint, f float, d double, c decimal(9, 2), day date, "
        "at timestamp, t timestamp_ntz, s string, u uuid, x binary",
        partition_by=["b", "i", "l", "f", "d", "c", "day", "at", "t", "s", "x"],
    )  # fmt: skip
    at = dt.datetime(2024, 1, 31, 10, 30, 0, 123456)  # noqa: DTZ001 (a wall clock)
    row = {
        "b": True, "i": 5, "l": 2**40, "f": 1.5, "d": -2.5, "c": Decimal("1.50"),
        "day": dt.date(2024, 1, 31), "at": at.replace(tzinfo=dt.UTC), "t": at, "s": "é/=",
        "u": uuid.UUID(int=5).bytes, "x": b"\x00\xff",
    }  # fmt: skip
    schema = made.local.scan().to_arrow().schema
    made.local.append(pa.Table.from_pylist([row, dict.fromkeys(row)], schema))
    assert len(made.same()) == 2
    partitions = {task.partition for task in made.served.scan().plan_files()}
    assert partitions == {task.partition for task in made.local.scan().plan_files()}
    for where in (
        "b",
        "i = 5",
        "f > 1",
        "c = 1.5",
        "day = DATE'2024-01-31'",
        "s = 'é/='",
        "x = X'00ff'",
        "at >= TIMESTAMP'2024-01-31 10:30:00 UTC'",
        "u = '00000000-0000-0000-0000-000000000005'",
        "t < TIMESTAMP_NTZ'2024-02-01 00:00:00'",
        "l != 5 AND d <= 0",
    ):
        assert len(made.same(where)) == 1


def test_appends_go_on_and_other_changes_are_refused(both):
    served = both.served
    served.append(rows(90, 9))
    assert served.scan("id = 91").to_arrow().num_rows == 1
    refused = {
        "delete": lambda: served.delete("id = 91"),
        "overwrite": lambda: served.overwrite(rows(1, 1), "id = 91"),
        "compaction": served.maintenance.rewrite_data_files,
        "deletes": served.maintenance.rewrite_position_delete_files,
        "statistics": served.maintenance.compute_table_stats,
    }
    for change in refused.values():
        with pytest.raises(UnsupportedError, match="scan-planning-mode is 'server'"):
            change()
    assert served.refresh().scan("id = 91").to_arrow().num_rows == 1


@pytest.mark.parametrize("fault", [
    Fault.DROPPED, Fault.DROPPED_AFTER, Fault.TWICE, Fault.UNAVAILABLE, Fault.GATEWAY_AFTER,
    Fault.TRUNCATED_AFTER, Fault.TOO_MANY,
])  # fmt: skip
def test_a_gateway_that_fails_once_loses_nothing(both, fault):
    served = both.served
    with fault_proxy(both.catalog._catalog.properties["uri"]) as proxy:
        catalog = ice.load_catalog("c", type="rest", uri=proxy.uri)
        table = catalog.load_table(served.identifier)
        met: set[str] = set()

        def once(method: str, path: str) -> Fault | None:
            key = f"{method} {path.partition('?')[0]}"
            if ("/plan" in path or path.endswith("/tasks")) and key not in met:
                met.add(key)
                return fault
            return None

        proxy.faults = once
        assert by_value(table.scan().to_arrow()) == by_value(both.local.scan().to_arrow())
        assert met
