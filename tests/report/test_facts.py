"""The numbers in a report are those of the table."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.report.file_facts import file_facts
from iceberg_spark.report.history_facts import commits, growth, snapshot_graph
from iceberg_spark.report.limits import REPORT
from iceberg_spark.report.page import schema_versions, spec_versions
from iceberg_spark.spec.snapshot import Snapshot, SnapshotRef, SnapshotRefType
from tests.builders import metadata

BRANCH, TAG = SnapshotRefType.BRANCH, SnapshotRefType.TAG


def snapshot(number: int, parent: int | None, **summary: str) -> Snapshot:
    return Snapshot(
        number, number * 1000, "list", parent, summary={"operation": "append", **summary}
    )


def table_of(*snapshots: Snapshot, refs: dict[str, SnapshotRef], **rest):
    return replace(
        metadata(),
        snapshots={each.snapshot_id: each for each in snapshots},
        refs=refs,
        current_snapshot_id=refs["main"].snapshot_id,
        **rest,
    )


def line(count: int):
    """A table with a line of commits, each with a row more."""
    snapshots = [
        snapshot(number, number - 1 or None, **{"total-records": str(number)})
        for number in range(1, count + 1)
    ]
    return table_of(*snapshots, refs={"main": SnapshotRef(count, BRANCH)})


def test_growth_has_the_first_and_the_last_commit_and_no_more_points_than_allowed():
    facts = growth(line(5000))
    rows = facts.totals["rows"]
    assert len(rows) <= REPORT.growth_points
    assert (rows[0], rows[-1]) == (1, 5000)
    assert list(rows) == sorted(rows)


def test_growth_of_summaries_that_are_not_numbers_is_unknown():
    odd = [snapshot(1, None, **{"total-records": "many"}), snapshot(2, 1)]
    facts = growth(table_of(*odd, refs={"main": SnapshotRef(2, BRANCH)}))
    assert np.isnan(facts.totals["rows"]).all()


def test_commits_are_counted_by_operation():
    parts = [
        replace(snapshot(number, None), summary={"operation": operation})
        for number, operation in enumerate(["append", "append", "delete", "strange"], 1)
    ]
    facts = commits(table_of(*parts, refs={"main": SnapshotRef(4, BRANCH)}))
    assert {name: counts.sum() for name, counts in facts.counts.items()} == {
        "append": 2, "delete": 1, "other": 1,
    }  # fmt: skip
    assert len(facts.edges) == REPORT.commit_bars + 1


def test_times_that_no_axis_has_are_moved_onto_it():
    far = [replace(snapshot(1, None), timestamp_ms=-(2**62)),
           replace(snapshot(2, 1), timestamp_ms=2**62)]  # fmt: skip
    table = table_of(*far, refs={"main": SnapshotRef(2, BRANCH)})
    assert growth(table).times.tolist() == [0.0, 7_258_118_400_000.0]
    assert commits(table).counts["append"].sum() == 2


def test_branch_has_a_lane_of_its_own_from_where_it_left_main():
    # 1 - 2 - 3 main, and 2 - 4 audit; 5 is staged on 1 and nothing names it
    table = table_of(
        snapshot(1, None), snapshot(2, 1), snapshot(3, 2), snapshot(4, 2), snapshot(5, 1),
        refs={"audit": SnapshotRef(4, BRANCH), "main": SnapshotRef(3, BRANCH),
              "eoy": SnapshotRef(1, TAG)},
    )  # fmt: skip
    graph = snapshot_graph(table)
    assert [(node.snapshot_id, node.lane, node.references) for node in graph.nodes] == [
        (1, 0, ("eoy",)), (2, 0, ()), (3, 0, ("main",)), (4, 1, ("audit",)), (5, 2, ()),
    ]  # fmt: skip
    assert {(edge.child, edge.parent, edge.skips) for edge in graph.edges} == {
        (2, 1, False), (1, 0, False), (3, 1, False), (4, 0, False),
    }  # fmt: skip


def test_graph_skips_old_snapshots_but_not_those_that_have_names():
    table = line(1000)
    table = replace(table, refs={**table.refs, "first": SnapshotRef(1, TAG)})
    graph = snapshot_graph(table)
    assert len(graph.nodes) == REPORT.graph_snapshots + 1
    assert graph.nodes[0].references == ("first",)
    assert [edge for edge in graph.edges if edge.skips] == [graph.edges[-1]]
    assert (graph.edges[-1].child, graph.edges[-1].parent) == (1, 0)


def test_graph_ends_where_parents_form_a_circle():
    table = table_of(snapshot(1, 2), snapshot(2, 1), refs={"main": SnapshotRef(2, BRANCH)})
    assert len(snapshot_graph(table).nodes) == 2
    assert len(growth(table).times) == 2


@pytest.mark.parametrize("version", ["2", "3"])
def test_file_facts_add_up(tmp_path, version):
    table = ice.create_table(
        tmp_path / "t", "id bigint, k string", partition_by=["k"],
        properties={"format-version": version, "write.delete.mode": "merge-on-read"},
    )  # fmt: skip
    for start in (0, 10):
        table.append(pa.table({"id": range(start, start + 10), "k": ["a"] * 8 + ["b"] * 2}))
    table.delete("id < 4")
    facts = file_facts(table.metadata, table.io)
    files = table.inspect.data_files()
    sizes = files.column("file_size_in_bytes").to_pylist()
    assert (facts.sizes.files, facts.sizes.total) == (4, sum(sizes))
    assert facts.sizes.counts.sum() == 4
    assert {(part.name, part.rows, part.files) for part in facts.partitions.largest} == {
        ("k=a", 16, 2), ("k=b", 4, 2),
    }  # fmt: skip
    name = "deletion vectors" if version == "3" else "position deletes"
    assert [(kind.files, kind.rows) for kind in facts.deletes.kinds if kind.name == name] == [
        (1, 4)
    ]
    assert facts.deletes.files_with_deletes == 1
    assert facts.deletes.masked_shares.tolist() == [0.5]
    assert (facts.manifests.data, facts.manifests.deletes) == (2, 1)


def test_equality_deletes_are_counted_and_mask_no_exact_share(tmp_path):
    table = ice.create_table(tmp_path / "t", "id bigint NOT NULL, k string")
    table.append(pa.table({"id": [1, 2], "k": ["a", "b"]}))
    table.upsert(pa.table({"id": [1], "k": ["c"]}), ["id"])
    debt = file_facts(table.metadata, table.io).deletes
    assert [(kind.name, kind.rows) for kind in debt.kinds if kind.files] == [
        ("equality deletes", 1)
    ]
    assert debt.masked_shares.tolist() == []


def test_partition_of_a_removed_field_keeps_its_value_in_version_1(tmp_path):
    table = ice.create_table(
        tmp_path / "t", "k string", partition_by=["k"], properties={"format-version": "1"}
    )
    table.append(pa.table({"k": ["a"]}))
    with table.update_spec() as update:
        update.remove_field("k")
    table.append(pa.table({"k": ["b", "c"]}))
    largest = file_facts(table.metadata, table.io).partitions.largest
    assert {(part.name, part.rows) for part in largest} == {("k=a", 1), ("k=null", 2)}


def test_heat_map_sums_up_neighbours_and_loses_nothing(tmp_path):
    table = ice.create_table(tmp_path / "t", "k bigint", partition_by=["k"])
    table.append(pa.table({"k": range(3 * REPORT.heat_cells)}))
    heat = file_facts(table.metadata, table.io).partitions.heat
    assert len(heat["rows"]) == REPORT.heat_cells
    assert heat["rows"].sum() == 3 * REPORT.heat_cells


def test_definitions_are_shown_as_a_diff(tmp_path):
    table = ice.create_table(tmp_path / "t", "id int, s struct<a: int>", partition_by=["id"])
    with table.update_schema() as update:
        update.update_column("id", "bigint").add_column("n", "string").delete_column("s.a")
        update.add_column("s.b", "int")
    with table.update_spec() as update:
        update.remove_field("id").add_field("bucket(4, id)")
    first, second = schema_versions(table.metadata)
    assert [str(change.sign) + change.text for change in first.changes] == [
        "+id int", "+s struct", "+s.a int",
    ]  # fmt: skip
    assert [change.sign + change.text for change in second.changes] == [
        "~id int  →  id long", "+n string", "+s.b int", "-s.a int",
    ]  # fmt: skip
    assert (first.is_current, second.is_current) == (False, True)
    assert [change.sign for change in spec_versions(table.metadata)[1].changes] == ["+", "-"]


def test_only_the_newest_versions_and_a_bounded_number_of_changes_are_shown(tmp_path):
    columns = ", ".join(f"c{number} int" for number in range(REPORT.changes + 5))
    table = ice.create_table(tmp_path / "t", columns)
    for number in range(REPORT.schema_versions):
        with table.update_schema() as update:
            update.rename_column("c0" if number == 0 else f"d{number - 1}", f"d{number}")
    versions = schema_versions(table.metadata)
    assert [version.number for version in versions] == [*range(1, REPORT.schema_versions + 1)]
    assert [len(version.changes) for version in versions] == [1] * REPORT.schema_versions
    first = schema_versions(ice.create_table(tmp_path / "u", columns).metadata)[0]
    assert len(first.changes) == REPORT.changes + 1
    assert first.changes[-1].text == "5 more changes"
