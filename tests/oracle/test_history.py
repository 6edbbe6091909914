"""Snapshots and references against Java: what it makes, refuses, reads, and expires."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.errors import IcebergError
from tests.oracle import java_api

ROOT = Path(__file__).resolve().parents[2]
_VALUES = ("WRITE_DISTRIBUTION_MODE_",)
LATER = 4_000_000_000_000
Change = Callable[[Any, list[int]], Any]


def made(java: SparkSession, name: str) -> ice.Table:
    """Three snapshots: rows, deletes of rows, an overwrite under a wider schema."""
    properties = "'format-version'='2', 'write.delete.mode'='merge-on-read'"
    java.sql(
        f"CREATE TABLE j.db.{name} (id bigint, k string) USING iceberg PARTITIONED BY (k) "
        f"TBLPROPERTIES ({properties})"
    )
    java.sql(f"INSERT INTO j.db.{name} VALUES (1, 'a'), (2, 'a'), (3, 'b')")
    java.sql(f"DELETE FROM j.db.{name} WHERE id = 1")
    java.sql(f"ALTER TABLE j.db.{name} ADD COLUMN more int")
    java.sql(f"INSERT OVERWRITE j.db.{name} VALUES (4, 'b', 1), (5, 'c', 1)")
    return ice.load_table(java_api.location(java, name))


def snapshots(table: ice.Table) -> list[int]:
    return [each.snapshot_id for each in table.refresh().snapshots()]


OURS: dict[str, Change] = {
    "branch": lambda m, s: m.create_branch(s[0], "x", min_snapshots_to_keep=2),
    "tag": lambda m, s: m.create_tag(s[1], "x", max_ref_age_ms=5),
    "branch taken": lambda m, s: m.create_branch(s[0], "t"),
    "replace branch": lambda m, s: m.replace_branch(s[0], "b"),
    "replace tag": lambda m, s: m.replace_tag(s[2], "t"),
    "replace tag as branch": lambda m, s: m.replace_branch(s[2], "t2"),
    "remove branch": lambda m, _: m.remove_branch("b"),
    "remove main": lambda m, _: m.remove_branch("main"),
    "remove tag": lambda m, _: m.remove_tag("t"),
    "remove tag as branch": lambda m, _: m.remove_branch("t"),
    "rename": lambda m, _: m.rename_branch("b", "y"),
    "rename to taken": lambda m, _: m.rename_branch("b", "t"),
    "forward": lambda m, _: m.fast_forward("b", "main"),
    "forward backwards": lambda m, _: m.fast_forward("main", "b"),
    "forward a new branch": lambda m, _: m.fast_forward("z", "b"),
    "roll back": lambda m, s: m.rollback_to_snapshot(s[0]),
    "roll back to unknown": lambda m, _: m.rollback_to_snapshot(7),
    "set current": lambda m, s: m.set_current_snapshot(s[1]),
    "set current unknown": lambda m, _: m.set_current_snapshot(7),
    "keep snapshots of a tag": lambda m, _: m.set_min_snapshots_to_keep("t", 1),
    "retention": lambda m, _: m.set_max_snapshot_age_ms("b", 9),
    "pick an ancestor": lambda m, s: m.cherrypick(s[0]),
    "pick unknown": lambda m, _: m.cherrypick(7),
}
JAVA: dict[str, Change] = {
    "branch": lambda m, s: m.createBranch("x", s[0]).setMinSnapshotsToKeep("x", 2),
    "tag": lambda m, s: m.createTag("x", s[1]).setMaxRefAgeMs("x", 5),
    "branch taken": lambda m, s: m.createBranch("t", s[0]),
    "replace branch": lambda m, s: m.replaceBranch("b", s[0]),
    "replace tag": lambda m, s: m.replaceTag("t", s[2]),
    "replace tag as branch": lambda m, s: m.replaceBranch("t2", s[2]),
    "remove branch": lambda m, _: m.removeBranch("b"),
    "remove main": lambda m, _: m.removeBranch("main"),
    "remove tag": lambda m, _: m.removeTag("t"),
    "remove tag as branch": lambda m, _: m.removeBranch("t"),
    "rename": lambda m, _: m.renameBranch("b", "y"),
    "rename to taken": lambda m, _: m.renameBranch("b", "t"),
    "forward": lambda m, _: m.fastForwardBranch("b", "main"),
    "forward backwards": lambda m, _: m.fastForwardBranch("main", "b"),
    "forward a new branch": lambda m, _: m.fastForwardBranch("z", "b"),
    "roll back": lambda m, s: m.rollbackTo(s[0]),
    "roll back to unknown": lambda m, _: m.rollbackTo(7),
    "set current": lambda m, s: m.setCurrentSnapshot(s[1]),
    "set current unknown": lambda m, _: m.setCurrentSnapshot(7),
    "keep snapshots of a tag": lambda m, _: m.setMinSnapshotsToKeep("t", 1),
    "retention": lambda m, _: m.setMaxSnapshotAgeMs("b", 9),
    "pick an ancestor": lambda m, s: m.cherrypick(s[0]),
    "pick unknown": lambda m, _: m.cherrypick(7),
}


@pytest.fixture(scope="module")
def steps(java: SparkSession) -> ice.Table:
    """The table that every step starts from; each step is undone by the next one's rollback."""
    return made(java, "steps")


@pytest.mark.parametrize("case", OURS)
def test_a_step_does_or_refuses_what_java_does(
    java: SparkSession, steps: ice.Table, case: str
) -> None:
    """Both sides run the step on the same references; what they leave is compared."""
    numbers = snapshots(steps)
    expected = _after(steps, numbers, lambda: JAVA[case](
        java_api.load(java, "steps").manageSnapshots(), numbers
    ).commit())  # fmt: skip
    found = _after(steps, numbers, lambda: OURS[case](steps.manage_snapshots(), numbers).commit())
    assert found == expected


def _after(table: ice.Table, numbers: list[int], step: Callable[[], Any]) -> Any:
    """Reset the references, run a step, return what they are then, or that it was refused."""
    table.refresh()
    with table.manage_snapshots() as manage:
        for name, ref in table.refs().items():
            if name != "main":
                (manage.remove_branch if ref.is_branch else manage.remove_tag)(name)
        manage.set_current_snapshot(numbers[2])
        manage.create_branch(numbers[1], "b").create_tag(numbers[0], "t")
    before = table.refs()
    try:
        step()
    except (IcebergError, Py4JJavaError, PySparkException):
        assert table.refresh().refs() == before
        return "refused"
    return table.refresh().refs()


def test_java_and_we_publish_staged_snapshots_alike(java: SparkSession) -> None:
    made(java, "published")
    java.sql("ALTER TABLE j.db.published SET TBLPROPERTIES ('write.wap.enabled'='true')")
    java.conf.set("spark.wap.id", "w1")
    try:
        java.sql("INSERT INTO j.db.published VALUES (7, 'q', 1)")
    finally:
        java.conf.unset("spark.wap.id")
    java.sql("INSERT INTO j.db.published VALUES (8, 'q', 1)")
    table = ice.load_table(java_api.location(java, "published"))
    staged = next(s for s in table.snapshots() if s.summary.get("wap.id") == "w1")
    table.manage_snapshots().cherrypick(staged.snapshot_id).commit()
    current = table.current_snapshot()
    assert current is not None
    assert current.summary["published-wap-id"] == "w1"
    assert sorted(row.id for row in java.table("j.db.published").collect()) == [4, 5, 7, 8]
    with pytest.raises(Py4JJavaError, match="wap"):
        java_api.load(java, "published").manageSnapshots().cherrypick(staged.snapshot_id).commit()
    with pytest.raises(IcebergError, match="published by snapshot"):
        table.manage_snapshots().cherrypick(staged.snapshot_id).commit()


def test_time_travel_has_the_snapshots_schema_and_a_branch_the_tables(java: SparkSession) -> None:
    table = made(java, "travel")
    first = snapshots(table)[0]
    table.manage_snapshots().create_branch(first, "b").create_tag(first, "t").commit()
    for ours, sql in (
        ({"snapshot_id": first}, f"VERSION AS OF {first}"),
        ({"tag": "t"}, "VERSION AS OF 't'"),
        ({"branch": "b"}, "VERSION AS OF 'b'"),
    ):
        expected = java.sql(f"SELECT * FROM j.db.travel {sql}").toArrow()
        found = table.scan(**ours).to_arrow()
        assert found.column_names == expected.column_names, sql
        assert _rows(found) == _rows(expected), sql


def _rows(table: pa.Table) -> list[Any]:
    return sorted(map(str, table.to_pylist()))


EXPIRIES: dict[str, tuple[dict[str, Any], Callable[[Any, list[int]], Any]]] = {
    "all": ({"older_than": LATER}, lambda e, _: e.expireOlderThan(LATER)),
    "last two": (
        {"older_than": LATER, "retain_last": 2},
        lambda e, _: e.expireOlderThan(LATER).retainLast(2),
    ),
    "by id": ({"snapshot_ids": [1]}, lambda e, s: e.expireSnapshotId(s[1])),
    "by age": ({}, lambda e, _: e),
}


@pytest.mark.parametrize("case", EXPIRIES)
def test_a_dry_run_names_the_files_that_java_deletes(java: SparkSession, case: str) -> None:
    name = f"expired_{case.replace(' ', '_')}"
    table = made(java, name)
    numbers = snapshots(table)
    with table.manage_snapshots() as manage:
        manage.create_tag(numbers[1] if case != "by id" else numbers[0], "kept")
        manage.set_min_snapshots_to_keep("main", 1 if case == "all" else 2)
        if case == "last two":
            manage.rollback_to_snapshot(numbers[0])
    ours, theirs = EXPIRIES[case]
    if "snapshot_ids" in ours:
        ours = {"snapshot_ids": [numbers[1]]}
    result = table.maintenance.expire_snapshots(**ours, dry_run=True)
    before = _stored(table)
    theirs(java_api.load(java, name).expireSnapshots(), numbers).commit()
    assert {Path(path).name for path in result.files["file_path"].to_pylist()} == (
        before - _stored(table)
    )
    gone = [number for number in numbers if number not in snapshots(table)]
    assert list(result.snapshot_ids) == gone


def _stored(table: ice.Table) -> set[str]:
    names = (Path(info.path).name for info in table.io.list(table.location()))
    return {name for name in names if name.endswith((".avro", ".parquet")) and name[0] != "."}


def test_java_reads_what_we_expired(java: SparkSession) -> None:
    table = made(java, "read_after")
    expected = _rows(java.table("j.db.read_after").toArrow())
    result = table.maintenance.expire_snapshots(older_than=LATER)
    assert len(result.snapshot_ids) == 2
    assert _rows(java.table("j.db.read_after").toArrow()) == expected
    assert java.sql("SELECT * FROM j.db.read_after.snapshots").count() == 1


def test_the_list_of_javas_property_names_is_complete(java: SparkSession) -> None:
    """Names of one property each; prefixes end with a dot, defaults and values have none."""
    listed = set((ROOT / "tests" / "java_table_properties.txt").read_text().split())
    loader = java.sparkContext._jvm.Thread.currentThread().getContextClassLoader()
    fields = loader.loadClass("org.apache.iceberg.TableProperties").getFields()
    values = {
        field.getName(): str(field.get(None))
        for field in fields
        if field.getType().getName() == "java.lang.String"
    }
    names = {
        value
        for name, value in values.items()
        if "DEFAULT" not in name.removeprefix("DEFAULT_") and not name.startswith(_VALUES)
    }
    assert listed - names == set()
    assert {name for name in names if "." in name} - listed == set()
