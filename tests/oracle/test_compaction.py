"""Compaction beside Java's, on two branches of one table: the same files before, alike after."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import identifier, location, read

CASES: Mapping[str, dict[str, Any]] = {
    "defaults": {},
    "all files": {"options": {"rewrite-all": "true"}},
    "some partitions": {"where": "k = 'k1' and id >= 5000", "options": {"min-input-files": "2"}},
    "small targets": {
        "where": "k = 'k0' and id >= 5000",
        "options": {"target-file-size-bytes": "6000", "min-input-files": "2"},
    },
    "many deletes": {"options": {"delete-file-threshold": "1", "min-file-size-bytes": "0"}},
    "much deleted": {"options": {"delete-ratio-threshold": "0.05", "min-file-size-bytes": "0"}},
    "few files": {
        "where": "k = 'k1' and id >= 5000",
        "options": {"max-files-to-rewrite": "3", "rewrite-all": "true"},
    },
    "small groups": {
        "where": "k = 'k0' and id >= 5000",
        "options": {"max-file-group-input-files": "2", "rewrite-all": "true"},
    },
    "small groups in bytes": {
        "where": "k = 'k0' and id >= 5000",
        "options": {"max-file-group-size-bytes": "20000", "rewrite-all": "true"},
    },
    "the commit's number": {
        "where": "k = 'k0' and id >= 5000",
        "options": {"use-starting-sequence-number": "false", "rewrite-all": "true"},
    },
    "in parts": {"options": {"partial-progress.enabled": "true", "rewrite-all": "true"}},
    "sorted": {
        "strategy": "sort",
        "sort_order": "x desc",
        "where": "k = 'k0' and id >= 5000",
        "options": {"rewrite-all": "true"},
    },
    "sorted as the table is": {
        "strategy": "sort",
        "sort_order": "id asc nulls first",
        "where": "k = 'k1' and id >= 5000",
        "options": {"rewrite-all": "true"},
    },
    "along a curve": {
        "strategy": "sort",
        "sort_order": "zorder(id,x)",
        "where": "k = 'k0' and id >= 5000",
        "options": {"rewrite-all": "true", "var-length-contribution": "4"},
    },
}
ROUGH = ("defaults", "all files", "in parts", "many deletes", "small targets")
"""A former spec's rows are shuffled, or what fits together depends on the order of files."""


@pytest.fixture(scope="module")
def table(java: SparkSession) -> Table:
    """Files of two specs, with deletes by position and by key; an order that files don't have."""
    table = ice.create_table(
        location(java, "compacted"),
        "id bigint, k string, x double",
        properties={"write.delete.mode": "merge-on-read"},
    )
    for number in range(10):
        if number == 5:
            table.update_spec().add_field("k").commit()
        ids = list(range(number * 1000, number * 1000 + 1000))
        columns = {
            "id": ids,
            "k": [f"k{n % 2}" for n in ids],
            "x": [n * 7919 % 1009 / 7 for n in ids],
        }
        table.append(pa.table(columns))
    table.delete("id between 6000 and 6199")
    table.delete("id = 7001")
    gone = pa.table({"id": [5, 9005], "k": ["k1", "k1"], "x": [0.0, 0.0], "_op": ["D", "D"]})
    table.upsert(gone, ["id", "k"])
    table.update_sort_order().asc("id").commit()
    return table


@pytest.mark.parametrize("case", CASES)
def test_a_compaction_leaves_what_javas_does(java: SparkSession, table: Table, case: str) -> None:
    given = {"strategy": "binpack", "sort_order": None, "where": None, "options": {}} | CASES[case]
    mine, theirs = (f"{who}_{list(CASES).index(case)}" for who in ("ours", "javas"))
    for branch in (mine, theirs):
        table.refresh().manage_snapshots().create_branch(None, branch).commit()
    done = table.maintenance.rewrite_data_files(branch=mine, spark=java, **given)
    expected = java.sql(_call(given, theirs)).first()
    assert expected is not None
    assert done.rewritten_data_files_count == expected["rewritten_data_files_count"]
    assert done.failed_data_files_count == expected["failed_data_files_count"] == 0
    assert done.removed_delete_files_count == expected["removed_delete_files_count"]
    if case != "few files":  # Java takes the first that its threads find
        assert done.rewritten_bytes_count == expected["rewritten_bytes_count"]
    table.refresh()
    ours, javas = _files(java, table, mine), _files(java, table, theirs)
    assert _kinds(ours, case) == _kinds(javas, case)
    added = expected["added_data_files_count"]
    if case in ROUGH:
        assert done.added_data_files_count <= added
    else:
        assert done.added_data_files_count == added
        assert max(row[4] for row in ours) < 1.5 * max(row[4] for row in javas)
    before = table.scan().to_arrow()
    assert_same_rows(before, table.scan(branch=mine).to_arrow())
    assert_same_rows(before, read(java, location(java, "compacted"), branch=mine))


def _kinds(files: list[tuple[Any, ...]], case: str) -> object:
    """What the files are said to be: how many of each kind, where that is decided."""
    if case in ROUGH:
        return {row[:2] for row in files}
    numbered = case not in ("few files", "the commit's number")  # those follow the commits
    return Counter((row[0], row[1] if numbered else None, row[2]) for row in files)


def _call(given: Mapping[str, Any], branch: str) -> str:
    options = ", ".join(f"'{key}', '{value}'" for key, value in given["options"].items())
    parts = [f"table => '{identifier('compacted')}'", f"branch => '{branch}'"]
    parts += [f"strategy => '{given['strategy']}'"]
    if given["sort_order"]:
        parts.append(f"sort_order => '{given['sort_order']}'")
    if given["where"]:
        parts.append(f'where => "{given["where"]}"')
    if options:
        parts.append(f"options => map({options})")
    return f"CALL j.system.rewrite_data_files({', '.join(parts)})"


def _files(java: SparkSession, table: Table, branch: str) -> list[tuple[Any, ...]]:
    """Spec, data sequence number, sort order, rows and bytes of each live data file."""
    entries = java.sql(
        f"select data_file.spec_id, sequence_number, data_file.sort_order_id, "
        f"data_file.record_count, data_file.file_size_in_bytes "
        f"from {identifier('compacted')}.entries version as of '{branch}' "
        "where data_file.content = 0 and status < 2"
    )
    return [tuple(row) for row in entries.collect()]
