"""Which snapshots an expiry keeps: the rule walked branch by branch, and as it is computed."""

import random
from dataclasses import replace

import pytest

from iceberg_spark.commits.expire_snapshots import Expiry, expired_snapshots
from iceberg_spark.spec.ancestry import ancestors
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import SnapshotRef, SnapshotRefType
from tests.unit.api.tables import make, rows

BRANCH, TAG = SnapshotRefType.BRANCH, SnapshotRefType.TAG


def model(metadata: TableMetadata, expiry: Expiry) -> tuple[int, ...]:
    """Java's RemoveSnapshots, a walk of the whole history for each branch."""
    older_than, retained = expiry.older_than_ms or 0, expiry.retain_last or 1
    kept: set[int] = set()
    referenced: set[int] = set()
    for ref in metadata.refs.values():
        kept.add(ref.snapshot_id)
        referenced.add(ref.snapshot_id)
        if not ref.is_branch:
            continue
        history = list(ancestors(metadata, ref.snapshot_id))
        referenced |= {snapshot.snapshot_id for snapshot in history}
        age = ref.max_snapshot_age_ms
        limit = older_than if age is None else expiry.now_ms - age
        fewest = ref.min_snapshots_to_keep or retained
        for count, snapshot in enumerate(history):
            if count >= fewest and snapshot.timestamp_ms < limit:
                break
            kept.add(snapshot.snapshot_id)
    for number, snapshot in metadata.snapshots.items():
        if number not in referenced and snapshot.timestamp_ms >= older_than:
            kept.add(number)
    return tuple(number for number in metadata.snapshots if number not in kept)


def random_reference(rnd: random.Random, snapshots: int) -> SnapshotRef:
    number = rnd.randrange(1, snapshots + 1)
    if rnd.random() < 0.3:
        return SnapshotRef(number, TAG)
    return SnapshotRef(
        number, BRANCH, rnd.choice([None, 1, 2, 5]), rnd.choice([None, None, 10, 60])
    )


@pytest.mark.parametrize("seed", range(5))
def test_random_histories_expire_as_the_rule_walked_branch_by_branch(seed: int) -> None:
    rnd = random.Random(seed)
    table = make()
    table.append(rows(id=[1], k=["a"]))
    (snapshot,) = table.metadata.snapshots.values()
    for _ in range(200):
        count = rnd.randrange(1, 14)
        snapshots = {
            number: replace(
                snapshot,
                snapshot_id=number,
                parent_snapshot_id=rnd.choice([None, *range(1, number)]),
                timestamp_ms=rnd.randrange(100),
            )
            for number in range(1, count + 1)
        }
        refs = {f"r{number}": random_reference(rnd, count) for number in range(rnd.randrange(5))}
        refs["main"] = SnapshotRef(rnd.randrange(1, count + 1), BRANCH)
        metadata = replace(
            table.metadata,
            snapshots=snapshots,
            refs=refs,
            current_snapshot_id=refs["main"].snapshot_id,
            snapshot_log=(),
        )
        expiry = Expiry(100, older_than_ms=rnd.randrange(110), retain_last=rnd.randrange(1, 4))
        assert expired_snapshots(metadata, expiry).snapshot_ids == model(metadata, expiry)
