"""Which manifests are merged (Java: ManifestMergeManager)."""

from dataclasses import replace

import pytest

from iceberg_spark.commits.append import AppendFiles
from iceberg_spark.commits.manifest_merge import pack_from_end
from iceberg_spark.spec.manifest_file import ManifestFile
from tests.unit.commits.tables import file, live, make_table, manifests, run


def sizes(*lengths: int, target: int = 10) -> list[list[int]]:
    given = [ManifestFile(str(place), length, 0) for place, length in enumerate(lengths)]
    packed = pack_from_end(given, target)
    assert [each for bin_ in packed for each in bin_] == given
    return [[each.manifest_length for each in bin_] for bin_ in packed]


def test_neighbours_are_packed_up_to_the_target_from_the_end():
    assert sizes(4, 4, 4, 4, 4) == [[4], [4, 4], [4, 4]]


def test_a_manifest_above_the_target_is_alone():
    assert sizes(3, 25, 3) == [[3], [25], [3]]


def test_the_order_stays_although_a_smaller_manifest_would_fit():
    assert sizes(2, 9, 2) == [[2], [9], [2]]


def test_nothing_gives_nothing():
    assert sizes() == []


def test_older_bins_are_merged_while_the_newest_waits_for_more():
    table = make_table(
        **{"commit.manifest.min-count-to-merge": "4", "commit.manifest.target-size-bytes": "8000"}
    )
    counts = []
    for name in "abcdefgh":
        table = run(table, AppendFiles([file(table, name)]))
        counts.append(len(manifests(table.metadata)))
    assert live(table.metadata) == set("abcdefgh")
    assert max(counts) < 8


def test_manifests_of_different_specs_are_not_merged():
    table = make_table(["region"], **{"commit.manifest.min-count-to-merge": "2"})
    table = run(table, AppendFiles([file(table, "a", "x")]))
    table = run(table, AppendFiles([file(table, "b", "y")]))
    (manifest,) = manifests(table.metadata)
    assert manifest.partitions is not None
    assert (manifest.partitions[0].lower_bound, manifest.partitions[0].upper_bound) == (b"x", b"y")


@pytest.mark.parametrize("columns", [0, 40])
def test_manifests_of_new_files_are_rolled_by_their_size(columns: int):
    """Whatever an entry takes: few bytes, or the bounds of many columns."""
    bounds = {at: f"{at:0200d}".encode() for at in range(columns)}
    table = make_table(
        **{
            "commit.manifest.target-size-bytes": "60000",
            "write.manifest.compression-codec": "uncompressed",
        }
    )
    files = [
        replace(
            file(table, f"{n:06d}"), lower_bounds={k: b"%06d" % n + v for k, v in bounds.items()}
        )
        for n in range(3_000)
    ]
    made = manifests(run(table, AppendFiles(files)).metadata)
    counts = [each.added_files_count or 0 for each in made]
    assert sum(counts) == 3_000
    *full, last = made
    for each in full:
        long_enough = each.manifest_length > 30_000 or each.added_files_count == 250
        assert long_enough
        assert each.manifest_length < 75_000 or each.added_files_count == 250
    assert len(full) > 1
    assert last.manifest_length < 75_000 or last.added_files_count == 250
