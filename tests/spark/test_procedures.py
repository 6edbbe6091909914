"""Procedures called by SQL: what names, times and values of arguments mean, and what is refused."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    InvalidTypeError,
    NoSuchSnapshotError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.statements.procedures import PROCEDURES
from tests.spark.settings import settings

Call = Callable[[str], list[tuple[Any, ...]]]
OURS = {
    "convert_equality_deletes": (1, {"table": "string", "branch": "string"}),
    "maintenance_plan": (1, {"table": "string"}),
    "upsert": (
        2,
        {
            "table": "string",
            "source_view": "string",
            "keys": "array<string>",
            "order_by": "array<string>",
            "global_delete": "boolean",
        },
    ),
}
"""Those of Java are compared with Java's in tests/oracle/test_procedures.py."""


@pytest.fixture
def call(spark: Any, sql_home: Path) -> Call:
    """Call a procedure of catalog `st`, and return its rows."""
    return _calls(spark)


def _calls(session: Any) -> Call:
    return lambda text: _rows(ice.sql(session, f"CALL st.system.{text}"))


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def _table(name: str, commits: int = 1, **properties: str) -> ice.Table:
    """A table of the ids 0, 1, ...: one a commit, none in the same millisecond as another."""
    catalog = ice.load_catalog("st")
    made = catalog.create_table(f"d.{name}", pa.schema({"id": pa.int64()}), properties=properties)
    for number in range(commits):
        _append(made, number)
    return made


def _append(table: ice.Table, number: int) -> None:
    time.sleep(0.002)
    table.append(pa.table({"id": [number]}))


def _ids(table: ice.Table) -> list[int]:
    return sorted(table.scan().to_arrow().column("id").to_pylist())


def test_parameters_of_our_own_procedures() -> None:
    for name, (required, parameters) in OURS.items():
        ours = PROCEDURES[name]
        kinds = {each: kind.simpleString() for each, kind in ours.parameters.items()}
        assert (ours.required, list(kinds.items())) == (required, list(parameters.items())), name


def test_times_choose_the_changes_that_a_view_shows(spark: Any, call: Call) -> None:
    first, second, third = (one.timestamp_ms for one in _table("t", 3).snapshots())
    shown = {
        "map()": [0, 1, 2],
        f"map('start-timestamp', '{first}')": [1, 2],
        f"map('start-timestamp', '{first - 1}', 'End-Timestamp', '{second}')": [0, 1],
        f"map('end-timestamp', '{third - 1}')": [0, 1],
        f"map('end-timestamp', '{first - 1}')": [],
        f"map('start-timestamp', '{third + 1}')": [],
        f"map('start-timestamp', '{third + 1}', 'end-timestamp', '{third + 2}')": [],
    }
    for options, ids in shown.items():
        call(f"create_changelog_view('d.t', 'shown', {options})")
        assert _rows(spark.sql("SELECT id FROM shown ORDER BY id")) == [(n,) for n in ids], options
    spark.catalog.dropTempView("shown")


def test_a_view_of_changes_up_to_a_time_leaves_out_what_was_rolled_back(
    spark: Any, call: Call
) -> None:
    table = _table("t", 2)
    first, second = table.snapshots()
    table.manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    call(f"create_changelog_view('d.t', 'shown', map('end-timestamp', '{second.timestamp_ms}'))")
    assert _rows(spark.sql("SELECT id FROM shown")) == [(0,)]
    spark.catalog.dropTempView("shown")


def test_options_of_a_view_of_changes_that_say_two_things_are_refused(call: Call) -> None:
    table = _table("t", 2)
    first = table.snapshots()[0]
    for options, said in {
        f"'start-snapshot-id', '{first.snapshot_id}', 'start-timestamp', '1'": "exclude each other",
        f"'end-snapshot-id', '{first.snapshot_id}', 'end-timestamp', '1'": "exclude each other",
        "'start-timestamp', '5', 'end-timestamp', '5'": "must be before",
        "'start-timestamp', 'yesterday'": "whole number",
        "'begin', '5'": "no option 'begin'",
    }.items():
        with pytest.raises(InvalidOptionError, match=said):
            call(f"create_changelog_view('d.t', 'shown', map({options}))")


def test_changes_since_a_time_whose_snapshots_have_expired_are_refused(call: Call) -> None:
    table = _table("t", 3)
    first = table.snapshots()[0]
    table.maintenance.expire_snapshots(snapshot_ids=[first.snapshot_id])
    with pytest.raises(NoSuchSnapshotError, match="expired"):
        call(f"create_changelog_view('d.t', 'v', map('start-timestamp', '{first.timestamp_ms}'))")


def test_a_view_of_changes_is_named_after_its_table_as_sql_takes_it(
    any_spark: Any, sql_home: Path, tmp_path: Path
) -> None:
    call = _calls(any_spark)
    _table("odd-name")
    place = tmp_path / "by.place"
    ice.create_table(str(place), pa.schema({"id": pa.int64()})).append(pa.table({"id": [7]}))
    for table, view, ids in (("d.`odd-name`", "`odd-name_changes`", [(0,)]),
                             (str(place), "`by.place_changes`", [(7,)])):  # fmt: skip
        assert call(f"create_changelog_view('{table}')") == [(view,)]
        assert _rows(any_spark.sql(f"SELECT id FROM {view}")) == ids
        any_spark.catalog.dropTempView(view)


def test_changes_staged_twice_under_an_id_are_not_published(spark: Any, call: Call) -> None:
    table = _table("t", **{"write.wap.enabled": "true"})
    spark.conf.set("spark.wap.id", "load-7")
    try:
        ice.sql(spark, "INSERT INTO st.d.t VALUES (5)")
        ice.sql(spark, "INSERT INTO st.d.t VALUES (6)")
    finally:
        spark.conf.unset("spark.wap.id")
    with pytest.raises(ValidationException, match="Several snapshots"):
        call("publish_changes('d.t', 'load-7')")
    with pytest.raises(InvalidInputError, match="NULL"):
        call("publish_changes('d.t', NULL)")
    assert _ids(table.refresh()) == [0]


def test_arguments_that_a_folder_has_no_use_for_are_refused(call: Call, tmp_path: Path) -> None:
    for argument in ("drop_backup => true", "backup_table_name => 'kept'"):
        with pytest.raises(UnsupportedError, match="no backup"):
            call(f"migrate('{tmp_path}/folder', {argument})")


def test_arguments_about_speed_are_checked_and_change_nothing(
    spark: Any, call: Call, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    spark.range(3).write.parquet(str(folder))
    speed = "parallelism => {}, ignore_missing_files => true"
    for start in (f"migrate('{folder}'", f"snapshot('{folder}', 'd.taken'"):
        with pytest.raises(InvalidInputError, match="parallelism"):
            call(f"{start}, {speed.format(0)})")
        assert call(f"{start}, {speed.format(2)})")[0][0] >= 1
    _table("t")
    listing = "prefix_listing => {}, stream_results => false"
    with pytest.raises(InvalidTypeError, match="prefix_listing"):
        call(f"remove_orphan_files(table => 'd.t', {listing.format(1)})")
    assert call(f"remove_orphan_files(table => 'd.t', {listing.format(True)})") == []


def test_a_table_is_named_from_where_use_has_chosen(spark: Any, call: Call) -> None:
    _table("t", 2)
    names = ("st.d.t", "d.t", "`d`.`t`", "st.`d`.t")
    ice.enable(spark)
    try:
        for use, named in (("spark_catalog.default", names), ("st.d", (*names, "t", "`t`"))):
            spark.sql(f"USE {use}")
            for name in named:
                assert len(call(f"ancestors_of('{name}')")) == 2, (use, name)
        spark.sql("USE st")
        assert len(_rows(spark.sql("CALL system.ancestors_of('d.t')"))) == 2
    finally:
        spark.sql("USE spark_catalog.default")
        ice.disable(spark)


def test_a_dot_in_backticks_is_of_the_name_and_another_catalog_is_refused(call: Call) -> None:
    """No table of ours has a dot in its name; that of another name is not taken for it."""
    ice.load_catalog("st").create_namespace(("d", "a"))
    ice.load_catalog("st").create_table("d.a.b", pa.schema({"id": pa.int64()}))
    with pytest.raises(InvalidInputError, match=r"'a\.b' is one part"):
        call("ancestors_of('d.`a.b`')")
    with pytest.raises(InvalidInputError, match=r"CALL fs.system"):
        call("ancestors_of('fs.d.t')")


def test_only_compaction_accepts_the_name_of_a_branch(
    call: Call,
) -> None:
    table = _table("t", 2)
    table.manage_snapshots().create_branch(None, "audit").commit()
    options = "options => map('rewrite-all', 'true')"
    assert call(f"rewrite_data_files(table => 'd.t.branch_audit', {options})")[0][:2] == (2, 1)
    files = {ref: len(list(table.refresh().scan(branch=ref).plan_files()))
             for ref in ("main", "audit")}  # fmt: skip
    assert files == {"main": 2, "audit": 1}
    head = table.current_snapshot()
    for text in ("rollback_to_timestamp('{}', current_timestamp())", "ancestors_of('{}')",
                 "expire_snapshots('{}')", "create_changelog_view('{}')"):  # fmt: skip
        with pytest.raises(InvalidInputError, match="not about its branch"):
            call(text.format("d.t.branch_audit"))
    assert table.refresh().current_snapshot() == head


def test_values_are_cast_to_their_parameters_types(any_spark: Any, sql_home: Path) -> None:
    call = _calls(any_spark)
    first = _table("t", 2).snapshots()[0].snapshot_id
    head = ice.load_table("st.d.t").current_snapshot().snapshot_id
    for moment in ("DATE '2100-01-01'", "TIMESTAMP_NTZ '2100-01-01 00:00:00'", "'2100-01-01'"):
        assert call(f"rollback_to_timestamp('d.t', {moment})") == [(head, head)]
    any_spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        moment = "TIMESTAMP '2100-01-01 00:00:00'"
        assert call(f"rollback_to_timestamp('d.t', {moment})") == [(head, head)]
    finally:
        any_spark.conf.unset("spark.sql.timestampType")
    for number in (f"'{first}'", f"{first}BD"):
        assert len(call(f"ancestors_of('d.t', {number})")) == 1
    ice.sql(any_spark, "ALTER TABLE st.d.t CREATE BRANCH `7`")
    assert call("fast_forward('d.t', 7, 'main')")[0][0] == "7"


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_value_that_its_parameter_cannot_have_is_refused(
    spark: Any, call: Call, ansi: str
) -> None:
    """Without ANSI Spark would make NULL of it, which stands for the default."""
    table = _table("t")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for text in ("older_than => 'nonsense'", "older_than => 1", "retain_last => 5000000000",
                     "retain_last => true", "stream_results => 1", "snapshot_ids => 1",
                     "snapshot_ids => array('1')"):  # fmt: skip
            with pytest.raises(InvalidTypeError, match=text.split(maxsplit=1)[0]):
                call(f"expire_snapshots(table => 'd.t', {text})")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert len(table.refresh().snapshots()) == 1


def test_an_expiry_deletes_files_elsewhere_only_when_that_is_asked(
    call: Call, tmp_path: Path
) -> None:
    far = tmp_path / "far"
    table = _table("t", **{"write.data.path": str(far)})
    later = "older_than => TIMESTAMP '2100-01-01 00:00:00'"
    for asked, stay, gone in (("", 2, 0), (", delete_outside => true", 2, 1)):
        table.overwrite(pa.table({"id": [7]}))
        assert call(f"expire_snapshots(table => 'd.t', {later}{asked})")[0][0] == gone
        assert len(list(far.rglob("*.parquet"))) == stay
        table.refresh()


def test_a_table_is_registered_by_its_metadata(call: Call) -> None:
    table = _table("t", 2)
    head = table.current_snapshot().snapshot_id
    place = table.metadata_location
    assert call(f"register_table('d.u', '{place}')") == [(head, 2, 2)]
    named = f"metadata_file => '{place}', table => 'd.v'"
    assert call(f"register_table({named})") == [(head, 2, 2)]
    assert _ids(ice.load_table("st.d.u")) == _ids(ice.load_table("st.d.v")) == [0, 1]


def test_a_tables_paths_are_rewritten_for_another_place(call: Call, tmp_path: Path) -> None:
    table = _table("t", 2)
    versions = [Path(one.metadata_file).name for one in table.metadata.metadata_log]
    source, newest = table.location(), Path(table.metadata_location).name
    staging = tmp_path / "staging"
    ((latest, listed, manifests, deletes),) = call(
        f"rewrite_table_path('d.t', '{source}', '/target', '{versions[-1]}', '{newest}', "
        f"'{staging}')"
    )
    assert (latest, manifests, deletes) == (newest, 1, 0)
    lines = table.io.read_bytes(listed).decode().splitlines()
    assert lines
    assert all(line.partition(",")[2].startswith("/target/") for line in lines)
    assert any(line.startswith(str(staging)) for line in lines)
    named = f"target_prefix => '/target', table => 'd.t', source_prefix => '{source}'"
    assert call(f"rewrite_table_path({named})")[0][2] == 2


def test_equality_deletes_are_converted(call: Call) -> None:
    table = _table("t", 3)
    table.upsert(pa.table({"id": [1], "_op": ["D"]}), ["id"])
    table.manage_snapshots().create_branch(None, "audit").commit()
    assert call("convert_equality_deletes('d.t', 'audit')") == [(1, 1, 1)]
    assert call("convert_equality_deletes(branch => 'audit', table => 'd.t')") == [(0, 0, 0)]
    assert call("convert_equality_deletes('d.t')") == [(1, 1, 1)]
    assert _ids(table.refresh()) == [0, 2]


def test_a_plan_says_what_is_worth_doing(call: Call) -> None:
    _table("t", 6)
    for arguments in ("'d.t'", "table => 'd.t'"):
        found = {row[0]: row[1:] for row in call(f"maintenance_plan({arguments})")}
        reason, read, requests = found["rewrite_data_files"]
        assert "6" in reason
        assert read > 0
        assert requests > 0


@pytest.fixture
def keyed(any_spark: Any, sql_home: Path) -> Any:
    """`st.d.t` with rows 1 and 2, and the view `changes` of 1 and 3."""
    properties = "TBLPROPERTIES ('write.wap.enabled' = 'true')"
    ice.sql(any_spark, f"CREATE TABLE st.d.t (Id int, v int) PARTITIONED BY (Id) {properties}")
    ice.sql(any_spark, "INSERT INTO st.d.t VALUES (1, 1), (2, 2)")
    any_spark.sql("SELECT 1 AS ID, 10 AS V UNION ALL SELECT 3, 30").createOrReplaceTempView(
        "changes"
    )
    return any_spark


UPSERT = "CALL st.system.upsert('d.t{}', 'changes', array('ID'))"


def values(table: Any, branch: str | None = None) -> dict[int, int]:
    found = table.refresh().scan(branch=branch).to_arrow()
    return dict(zip(found["Id"].to_pylist(), found["v"].to_pylist(), strict=True))


def test_upsert_writes_to_the_branch_of_a_statement(keyed: Any) -> None:
    """`spark.wap.branch` and `spark.wap.id`, or the branch in the table's name."""
    table = ice.load_table("st.d.t")
    with settings(keyed, {"spark.wap.branch": "aud"}):
        ice.sql(keyed, UPSERT.format(""))
    assert values(table) == {1: 1, 2: 2}
    assert values(table, "aud") == {1: 10, 2: 2, 3: 30}
    with settings(keyed, {"spark.wap.id": "load"}):
        ice.sql(keyed, UPSERT.format(""))
    assert values(table) == {1: 1, 2: 2}
    assert [one.summary.get("wap.id") for one in table.snapshots()].count("load") == 1
    table.manage_snapshots().create_branch(None, "b").commit()
    ice.sql(keyed, UPSERT.format(".branch_b"))
    assert values(table) == {1: 1, 2: 2}
    assert values(table, "b") == {1: 10, 2: 2, 3: 30}
    ice.sql(keyed, UPSERT.format(""))
    assert values(table) == {1: 10, 2: 2, 3: 30}


def test_upsert_accepts_an_iceberg_table_as_source(call: Call, spark: Any) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t AS SELECT 1 AS id, 1 AS v")
    ice.sql(spark, "CREATE TABLE st.d.s AS SELECT 1 AS id, 5 AS v UNION ALL SELECT 2, 6")
    call("upsert('d.t', 'st.d.s', array('id'))")
    assert sorted(_rows(ice.sql(spark, "SELECT * FROM st.d.t"))) == [(1, 5), (2, 6)]


WHERE = [
    "dt < current_date() - 7", "DT < date_sub(current_date(), 7)", "Dt < DATE'2020-01-01' + 1",
    "ID = 1 + 0", "ts < current_timestamp() - INTERVAL 1 DAY", "ts < TIMESTAMP'2020-01-02 00:00'",
]  # fmt: skip


@pytest.mark.parametrize("where", WHERE)
def test_where_takes_what_spark_can_work_out(any_spark: Any, sql_home: Path, where: str) -> None:
    """Constants, today's too, and names in any case, as in Java."""
    ice.sql(any_spark, "CREATE TABLE st.d.t (Id int, dt date, ts timestamp) PARTITIONED BY (dt)")
    for _ in range(2):
        ice.sql(
            any_spark,
            "INSERT INTO st.d.t VALUES (1, DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00'), "
            "(2, current_date() + 1, current_timestamp() + INTERVAL 1 DAY)",
        )
    text = where.replace("'", "''")
    call = _calls(any_spark)
    options = "options => map('rewrite-all', 'true')"
    done = call(f"rewrite_data_files('d.t', where => '{text}', {options})")
    assert done[0][:2] == (2, 1)
    ice.sql(any_spark, "ALTER TABLE st.d.t SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    call(f"rewrite_position_delete_files('d.t', where => '{text}', {options})")


def test_columns_of_a_procedure_follow_the_case_sensitivity_of_the_session(
    call: Call, spark: Any
) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t (Id int, v int)")
    ice.sql(spark, "INSERT INTO st.d.t VALUES (1, 1), (2, 2)")
    ice.sql(spark, "UPDATE st.d.t SET v = 5 WHERE Id = 1")
    call("create_changelog_view('d.t', 'changed', identifier_columns => array('ID'))")
    kinds = [row._change_type for row in spark.table("changed").where("v in (1, 5)").collect()]
    assert sorted(kinds) == ["INSERT", "UPDATE_AFTER", "UPDATE_BEFORE"]
    call("rewrite_data_files('d.t', sort_order => 'zorder(ID, V)')")
    with settings(spark, {"spark.sql.caseSensitive": "true"}), pytest.raises(InvalidSchemaError):
        call("rewrite_data_files('d.t', sort_order => 'zorder(ID, V)')")


@pytest.mark.parametrize("compute_updates", ["true", "false"])
def test_changes_of_a_table_whose_columns_are_called_as_helpers_are(
    call: Call, spark: Any, compute_updates: str
) -> None:
    names = ["_Key_row_1", "_key_group", "_group", "_row_hash_1", "_ID_hash_2", "__key_x"]
    columns = ", ".join(f"`{name}` int" for name in names)
    ice.sql(spark, f"CREATE TABLE st.d.t (id int, {columns})")
    ice.sql(spark, "INSERT INTO st.d.t VALUES (1, 1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2, 2)")
    ice.sql(spark, "UPDATE st.d.t SET _group = 7 WHERE id = 1")
    told = f"identifier_columns => array('id'), compute_updates => {compute_updates}"
    told = told if compute_updates == "true" else "net_changes => true"
    call(f"create_changelog_view('d.t', 'changed', {told})")
    found = spark.table("changed").select("id", "_group", "__key_x").distinct().collect()
    assert (1, 7, 1) in [tuple(row) for row in found]


def test_files_of_former_partitions_become_as_few_as_their_rows_take(
    call: Call, spark: Any
) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t (id int, k int) PARTITIONED BY (k)")
    for part in range(4):
        ice.sql(spark, f"INSERT INTO st.d.t VALUES (1, {part}), (2, {part})")
    ice.sql(spark, "ALTER TABLE st.d.t DROP PARTITION FIELD k")
    assert call("rewrite_data_files('d.t', options => map('rewrite-all', 'true'))")[0][:2] == (4, 1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("rewrite_data_files('d.t', strategy => '')", InvalidInputError),
        ("compute_table_stats('d.t', columns => array())", InvalidInputError),
        ("create_changelog_view('d.t', '')", Exception),
    ],
)
def test_empty_arguments_are_refused(
    call: Call, spark: Any, text: str, error: type[Exception]
) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t AS SELECT 1 AS id")
    with pytest.raises(error):
        call(text)
    assert not spark.catalog.tableExists("t_changes")


def test_moments_may_be_beyond_pythons_calendar(call: Call, spark: Any) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t AS SELECT 1 AS id")
    assert call("expire_snapshots('d.t', TIMESTAMP '-0005-01-01 00:00:00')")[0][0] == 0
    head = ice.load_table("st.d.t").current_snapshot()
    call("rollback_to_timestamp('d.t', TIMESTAMP '+10000-01-01 00:00:00')")
    assert ice.load_table("st.d.t").current_snapshot() == head
