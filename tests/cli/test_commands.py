"""Each command on a catalog, as a shell script would call it."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.ipc as paipc
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark.cli.output import OutputFormat, print_batches
from iceberg_spark.cli.run import app, run

EVENTS = "prod.db.events"


def ids(table: ice.Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["id"].to_pylist())


def in_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iceberg_spark", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_catalog_lists_namespaces_and_tables(cli, events):
    assert cli("namespaces", "prod").rows == [["prod.db"]]
    assert cli("tables", "prod").rows == [[EVENTS]]
    assert cli("tables", "prod.db", "--output", "json").json == [{"table": EVENTS}]


def test_namespace_is_created_and_dropped(cli, catalog):
    assert cli("create-namespace", "prod.new").status == 0
    assert catalog.namespace_exists("new")
    assert cli("drop-namespace", "prod.new", "--yes").status == 0
    assert not catalog.namespace_exists("new")
    assert "write CATALOG.NAMESPACE" in cli("create-namespace", "prod").err


def test_table_is_created_renamed_and_dropped(cli, catalog):
    created = cli(
        "create", "prod.db.t", "--schema", "id bigint, ts timestamp", "--partition-by", "days(ts)",
        "--sort-by", "id desc", "--property", "write.format.default=orc",
    )  # fmt: skip
    assert created.status == 0, created.err
    table = catalog.load_table("db.t")
    assert [field.name for field in table.spec().fields] == ["ts_day"]
    assert table.properties["write.format.default"] == "orc"
    assert cli("rename", "prod.db.t", "prod.db.u").status == 0
    assert cli("drop", "prod.db.u", "--purge", "--yes").status == 0
    assert not catalog.table_exists("db.u")


def test_rename_to_another_catalog_is_refused(cli, events):
    result = cli("rename", EVENTS, "other.db.u")
    assert (result.status, result.out) == (1, "")
    assert "both must be names of one catalog" in result.err


def test_describe_shows_the_table(cli, events):
    record = cli("describe", EVENTS, "--output", "json").json
    assert record["location"] == events.location()
    assert record["uuid"] == events.metadata.table_uuid
    assert record["summary"]["total-records"] == "4"
    assert record["refs"] == {"main": events.current_snapshot().snapshot_id}
    text = cli("describe", EVENTS).out
    assert "schema.id\tlong" in text and "partition_spec\tkind = identity(kind)" in text


def test_schema_and_spec_have_the_json_of_the_specification(cli, events):
    assert cli("schema", EVENTS).rows[0] == ["1", "id", "long", "false", ""]
    fields = cli("schema", EVENTS, "--output", "json").json["fields"]
    assert [field["name"] for field in fields] == ["id", "kind"]
    assert cli("spec", EVENTS).rows == [["1000", "kind", "identity", "kind"]]
    assert cli("spec", EVENTS, "--output", "json").json["fields"][0]["source-id"] == 2


def test_metadata_tables_have_a_row_for_each(cli, events):
    first, second = (snapshot.snapshot_id for snapshot in events.snapshots())
    snapshots = cli("snapshots", EVENTS, "--output", "json").json
    assert [row["snapshot_id"] for row in snapshots] == [first, second]
    assert [row["snapshot_id"] for row in cli("history", EVENTS, "--output", "json").json] == [
        first, second,
    ]  # fmt: skip
    assert cli("refs", EVENTS).rows[0][:2] == ["main", "BRANCH"]
    assert len(cli("files", EVENTS).rows) == 3
    assert len(cli("files", EVENTS, "--snapshot", first).rows) == 2
    assert "readable_metrics" in cli("files", EVENTS, "--output", "json").json[0]
    assert len(cli("partitions", EVENTS).rows) == 2


def test_scan_filters_selects_and_limits(cli, events):
    first = events.snapshots()[0].snapshot_id
    assert sorted(cli("scan", EVENTS, "--filter", "id > 2", "--columns", "id").rows) == [
        ["3"], ["4"],
    ]  # fmt: skip
    assert len(cli("scan", EVENTS, "--limit", "2").rows) == 2
    assert len(cli("scan", EVENTS, "--snapshot", first).rows) == 3
    events.manage_snapshots().create_tag(first, "eoy").create_branch(first, "audit").commit()
    assert len(cli("scan", EVENTS, "--ref", "eoy").rows) == 3
    assert cli("count", EVENTS, "--ref", "audit").out == "3\n"
    assert "exclude each other" in cli("scan", EVENTS, "--ref", "eoy", "--snapshot", first).err
    assert "No branch nowhere" in cli("scan", EVENTS, "--ref", "nowhere").err


def test_count_is_a_number_or_json(cli, events):
    assert cli("count", EVENTS, "--filter", "kind = 'a'").out == "2\n"
    assert cli("count", EVENTS, "--output", "json").json == {"count": 4}


def test_timestamp_without_an_offset_needs_a_time_zone(cli, tmp_path):
    table = ice.create_table(tmp_path / "t", "ts timestamp")
    instants = pa.array([0, 3_600_000_000], pa.timestamp("us", "UTC"))
    table.append(pa.table({"ts": instants}))
    condition = ("--filter", "ts >= '1970-01-01 02:00:00'")
    for command in (("count", table.location()), ("scan", table.location()),
                    ("diff", table.location(), "main", "main")):  # fmt: skip
        assert "option time-zone" in cli(*command, *condition).err
        assert cli(*command, *condition, "--time-zone", "Europe/Berlin").status == 0
    berlin = cli("count", table.location(), *condition, "--time-zone", "Europe/Berlin")
    assert berlin.out == "1\n"


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("rows.parquet", pq.read_table),
        ("rows.csv", pacsv.read_csv),
        ("rows.arrow", lambda path: paipc.open_file(path).read_all()),
    ],
)
def test_scan_writes_a_file(cli, events, tmp_path, name, read):
    result = cli("scan", EVENTS, "--filter", "id < 3", "-o", tmp_path / name)
    assert result.out == f"Wrote 2 rows to {tmp_path / name}\n"
    assert read(str(tmp_path / name)).to_pydict() == {"id": [1, 2], "kind": ["a", "a"]}


def test_csv_of_nested_values_has_json(cli, tmp_path):
    table = ice.create_table(tmp_path / "t", "l array<bigint>, b binary")
    rows = [{"l": [1, 2], "b": b"\xff"}, {"l": None, "b": None}]
    table.append(pa.Table.from_pylist(rows))
    cli("scan", tmp_path / "t", "-o", tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == '"l","b"\n"[1, 2]","ff"\n,\n'


def test_file_that_cannot_be_written_is_refused_before_reading(cli, events, tmp_path):
    result = cli("scan", EVENTS, "-o", tmp_path / "rows.xlsx")
    assert (result.status, result.out) == (1, "")
    assert "must end in .parquet, .csv, .arrow" in result.err
    assert "Cannot write" in cli("scan", EVENTS, "-o", tmp_path / "none" / "rows.csv").err


def test_failed_scan_leaves_no_file(cli, events, tmp_path):
    for path in (tmp_path / "warehouse").rglob("*.parquet"):
        path.unlink()
    folder = tmp_path / "out"
    folder.mkdir()
    assert cli("scan", EVENTS, "-o", folder / "rows.parquet").status == 1
    assert list(folder.iterdir()) == []


def test_diff_shows_changes_between_snapshots(cli, events):
    first, second = (snapshot.snapshot_id for snapshot in events.snapshots())
    rows = cli("diff", EVENTS, first, second, "--output", "json").json
    assert [(row["id"], row["_change_type"]) for row in rows] == [(4, "INSERT")]
    events.manage_snapshots().create_tag(first, "before").commit()
    assert len(cli("diff", EVENTS, "before", "main").rows) == 1


def test_properties_are_set_shown_and_removed(cli, events):
    assert cli("properties", "set", EVENTS, "a=1", "b=x=y").status == 0
    assert cli("properties", "get", EVENTS, "b").out == "x=y\n"
    assert cli("properties", "get", EVENTS, "--output", "json").json["a"] == "1"
    assert cli("properties", "remove", EVENTS, "a", "--yes").status == 0
    assert "a" not in events.refresh().properties
    assert "no property 'a'" in cli("properties", "remove", EVENTS, "a", "--yes").err
    assert "write KEY=VALUE" in cli("properties", "set", EVENTS, "a").err


def test_branches_and_tags_are_created_listed_and_dropped(cli, events):
    first = events.snapshots()[0].snapshot_id
    assert cli("branch", "create", EVENTS, "audit", "--snapshot", first).status == 0
    assert cli("tag", "create", EVENTS, "eoy").status == 0
    assert [row[0] for row in cli("branch", "list", EVENTS).rows] == ["main", "audit"]
    assert [row["name"] for row in cli("tag", "list", EVENTS, "--output", "json").json] == ["eoy"]
    assert cli("branch", "drop", EVENTS, "audit", "--yes").status == 0
    assert cli("tag", "drop", EVENTS, "eoy", "--yes").status == 0
    assert list(events.refresh().refs()) == ["main"]


def test_rollback_moves_main_back(cli, events):
    first = events.snapshots()[0].snapshot_id
    assert cli("rollback", EVENTS, first, "--yes").status == 0
    assert ids(events) == [1, 2, 3]


def test_expire_shows_what_goes_and_then_removes_it(cli, events):
    dry = cli("expire", EVENTS, "--older-than", "0 ms", "--dry-run", "--output", "json").json
    assert len(dry["snapshot_ids"]) == 1 and dry["dry_run"]
    assert len(events.refresh().snapshots()) == 2
    assert cli("expire", EVENTS, "--older-than", "0 ms", "--yes").status == 0
    assert len(events.refresh().snapshots()) == 1
    assert "with an offset" in cli("expire", EVENTS, "--older-than", "2026-01-01").err


def test_orphans_are_listed_and_deleted_on_demand(cli, events, tmp_path):
    orphan = next((tmp_path / "warehouse").rglob("data")) / "orphan.parquet"
    orphan.write_bytes(b"x")
    older = ("--older-than", "2020-01-01T00:00:00Z")
    assert cli("orphans", EVENTS, *older).rows == []
    os.utime(orphan, (0, 0))
    assert [row[0].endswith("orphan.parquet") for row in cli("orphans", EVENTS, *older).rows] == [
        True
    ]
    assert orphan.exists()
    assert cli("orphans", EVENTS, *older, "--delete").status == 1
    assert orphan.exists()
    assert cli("orphans", EVENTS, *older, "--delete", "--yes").status == 0
    assert not orphan.exists()


def test_maintenance_compacts_and_rewrites(cli, events):
    for number in range(5, 11):
        events.append(pa.table({"id": [number], "kind": ["b"]}))
    plan = cli("maintenance", "plan", EVENTS, "--output", "json").json
    assert [item["action"] for item in plan] == ["rewrite_data_files"]
    assert plan[0]["gain"].startswith("Data files to open: about 1 instead of ")
    assert cli("maintenance", "run", EVENTS).status == 1
    done = cli("maintenance", "run", EVENTS, "--yes")
    assert done.rows[0][0] == "rewrite_data_files"
    assert cli("maintenance", "run", EVENTS).rows == []
    result = cli("compact", EVENTS, "--option", "rewrite-all=true", "--output", "json").json
    assert result["failed_data_files_count"] == 0
    assert cli("rewrite-manifests", EVENTS).status == 0
    assert ids(events) == list(range(1, 11))


def test_report_is_written_to_a_file(cli, events, tmp_path):
    result = cli("report", EVENTS, "-o", tmp_path / "t.html", "--output", "json")
    assert result.json == {"file": str(tmp_path / "t.html")}
    assert (tmp_path / "t.html").read_text().startswith("<!DOCTYPE html>")
    assert "Cannot write" in cli("report", EVENTS, "-o", tmp_path / "none" / "t.html").err
    assert cli("report", EVENTS).status == 2


def test_check_has_an_exit_status(cli, events, tmp_path):
    assert cli("check", EVENTS).status == 0
    for path in (tmp_path / "warehouse").rglob("*-m0.avro"):
        path.unlink()
    broken = in_process("check", EVENTS, "--output", "json")  # this one keeps decoded manifests
    assert broken.returncode == 1 and json.loads(broken.stdout)["problems"]


def test_version_and_doctor(cli):
    assert cli("version", "--output", "json").json == {"version": ice.__version__}
    checks = cli("doctor", "--output", "json").json
    assert {"check", "state", "result", "advice"} == set(checks[0])


@pytest.mark.parametrize("command", ["drop", "rollback", "branch drop", "tag drop", "expire"])
def test_destructive_command_without_a_terminal_refuses(cli, events, command):
    first = events.snapshots()[0].snapshot_id
    events.manage_snapshots().create_branch(first, "b").create_tag(first, "t").commit()
    rest = {
        "drop": (), "rollback": (first,), "branch drop": ("b",), "tag drop": ("t",),
        "expire": ("--older-than", "0 ms", "--retain-last", "1"),
    }[command]  # fmt: skip
    before = events.refresh().metadata_location
    if command == "expire":
        events.manage_snapshots().remove_branch("b").remove_tag("t").commit()
        before = events.metadata_location
    result = cli(*command.split(), EVENTS, *rest)
    assert (result.status, result.out) == (1, "")
    assert "add --yes" in result.err and result.err.count("\n") == 1
    assert events.refresh().metadata_location == before


@pytest.mark.parametrize(("answer", "status", "exists"), [("n\n", 1, True), ("y\n", 0, False)])
def test_destructive_command_asks_on_a_terminal(
    cli, events, catalog, monkeypatch, answer, status, exists
):
    stream = io.StringIO(answer)
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", stream)
    result = cli("drop", EVENTS)
    assert result.status == status
    assert f"Drop {EVENTS}?" in result.err
    assert catalog.table_exists("db.events") is exists


def test_error_is_one_line_without_a_traceback(cli, catalog):
    result = cli("scan", "prod.db.none")
    assert (result.status, result.out) == (1, "")
    assert result.err.startswith("Error: ") and result.err.count("\n") == 1
    assert cli("tables", "nowhere").err.startswith("Error: Catalog 'nowhere' is not configured")


def test_unexpected_error_names_its_kind_and_the_way_to_a_traceback(cli, events, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr(ice.TableScan, "count", fail)
    assert cli("count", EVENTS).err == (
        "Error: RuntimeError: first (ICEBERG_SPARK_TRACEBACK=1 shows where)\n"
    )
    monkeypatch.setenv("ICEBERG_SPARK_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="first"):
        run(["count", EVENTS])


def test_wrong_arguments_have_status_2(cli):
    assert cli("scan").status == 2
    assert cli("nothing").status == 2
    assert cli("count", "t", "--output", "xml").status == 2


def test_each_command_has_json_output():
    groups = {group.typer_instance for group in app.registered_groups}
    commands = [*app.registered_commands, *(c for g in groups for c in g.registered_commands)]
    assert len(commands) > 35
    missing = [c.callback.__name__ for c in commands if "output" not in c.callback.__annotations__]
    assert missing == []


def test_rows_are_printed_while_they_are_read(events):
    with redirect_stdout(io.StringIO()) as stream:

        def batches():
            for count, batch in enumerate(events.scan().to_arrow_batch_reader()):
                assert len(stream.getvalue().splitlines()) >= bool(count) + 1
                yield batch

        print_batches(["id", "kind"], batches(), OutputFormat.TEXT)
    assert len(stream.getvalue().splitlines()) == 5
