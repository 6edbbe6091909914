"""The files of a batch of appended rows, next to Java's planner as plain loops."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from iceberg_spark.errors import NoSuchSnapshotError, UnsupportedError
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.streams.append_stream import AppendStream, PlannedBatch
from iceberg_spark.streams.offset import FROM_FULL, FROM_LATEST, NOTHING_READ, StreamOffset
from iceberg_spark.streams.stream_options import StreamOptions
from iceberg_spark.streams.table_watch import TableSeen
from tests.unit.streams.commits_on_disk import seen, table_of
from tests.unit.streams.java_planner import (
    ADDED,
    EXISTING,
    UNLIMITED,
    Commit,
    Entry,
    appended,
    end_of,
    latest,
)

SKIPPING = StreamOptions(skip_deletes=True, skip_overwrites=True)


def a_file(name: str, rows: int = 10, status: int = ADDED) -> Entry:
    return Entry(name, rows, status)


def append(*names: str) -> Commit:
    return Commit("append", (tuple(map(a_file, names)),))


def random_commits(random: Random) -> list[Commit]:
    """Commits with several manifests, some with files of before, as merged ones have them."""
    made = []
    for number in range(random.randint(1, 7)):
        operation = random.choice(["append"] * 4 + ["replace", "delete", "overwrite"])
        manifests = tuple(
            tuple(
                a_file(
                    f"{number}-{manifest}-{at}",
                    random.choice([0, 1, 5, 10]),
                    random.choice([ADDED, ADDED, EXISTING]),
                )
                for at in range(random.randint(1, 4))
            )
            for manifest in range(random.randint(0, 3))
        )
        made.append(Commit(operation, manifests))
    return made


def paths(batch: PlannedBatch) -> list[str]:
    return [task.file_path for plan in batch.plans for task in plan]


def run(stream: AppendStream, table: TableSeen, start: StreamOffset) -> list[StreamOffset]:
    """The ends of all batches from a start on."""
    ends: list[StreamOffset] = []
    while (end := stream.latest(table, start, limited=True)) != start:
        ends.append(end)
        start = end
    return ends


@pytest.mark.parametrize("seed", range(20))
def test_offsets_and_files_are_javas(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    commits = random_commits(random)
    table = seen(table_of(tmp_path, commits))
    files, rows = random.choice([None, 1, 2, 3, 7]), random.choice([None, 1, 6, 10, 25, 1000])
    options = replace(SKIPPING, max_files=files, max_rows=rows)
    start = StreamOffset(random.randint(1, len(commits)), 0)
    if commits[start.snapshot_id - 1].operation != "append":
        start = replace(start, position=end_of(commits[start.snapshot_id - 1]))
    read, at = [], start
    for end in run(AppendStream(options), table, start):
        assert end == latest(commits, at, files or UNLIMITED, rows or UNLIMITED)
        # whoever plans a batch, in whichever process, plans the same
        read += sorted(paths(AppendStream(options).plan(table, at, end)))
        at = end
    assert sorted(read) == sorted(appended(commits, start))


def test_a_batch_takes_the_files_of_all_snapshots_up_to_its_limits(tmp_path: Path) -> None:
    table = seen(table_of(tmp_path, [append("a", "b"), append("c"), append("d", "e")]))
    by_files = AppendStream(StreamOptions(max_files=2))
    assert run(by_files, table, NOTHING_READ) == [
        StreamOffset(2, 0), StreamOffset(3, 1), StreamOffset(3, 2),
    ]  # fmt: skip
    by_rows = AppendStream(StreamOptions(max_rows=21))
    assert run(by_rows, table, NOTHING_READ) == [StreamOffset(2, 1), StreamOffset(3, 2)]
    both = AppendStream(StreamOptions(max_files=4, max_rows=50))
    assert run(both, table, NOTHING_READ) == [StreamOffset(3, 1), StreamOffset(3, 2)]


def test_a_full_start_reads_what_is_there_and_then_what_comes(tmp_path: Path) -> None:
    commits = [append("a", "b"), append("c"), append("d")]
    before = seen(table_of(tmp_path / "1", commits[:2]))
    stream = AppendStream(StreamOptions(start="full", max_files=2))
    first = stream.latest(before, FROM_FULL, limited=True)
    assert first == StreamOffset(2, 2, scan_all_files=True)
    after = seen(table_of(tmp_path / "2", commits))
    second = stream.latest(after, first, limited=True)
    read = [stream.plan(after, FROM_FULL, first), stream.plan(after, first, second)]
    assert [paths(batch) for batch in read] == [["a", "b"], ["c", "d"]]
    assert second == StreamOffset(3, 1)
    assert AppendStream(StreamOptions(start="full")).latest(
        before, FROM_FULL, limited=True
    ) == StreamOffset(2, 3, scan_all_files=True)


def test_a_stream_from_latest_keeps_where_it_began(tmp_path: Path) -> None:
    stream = AppendStream(StreamOptions(start="latest"))
    table = seen(table_of(tmp_path, [append("a"), append("b")]))
    end = stream.latest(table, FROM_LATEST, limited=True)
    assert end == StreamOffset(2, 1)
    assert paths(stream.plan(table, FROM_LATEST, end)) == []


def test_a_stream_from_latest_of_an_empty_table_loses_nothing(tmp_path: Path) -> None:
    stream = AppendStream(StreamOptions(start="latest"))
    end = stream.latest(seen(table_of(tmp_path / "1", [])), FROM_LATEST, limited=True)
    assert end == NOTHING_READ != FROM_LATEST
    table = seen(table_of(tmp_path / "2", [append("a")]))
    later = stream.latest(table, end, limited=True)
    assert paths(stream.plan(table, end, later)) == ["a"]


@pytest.mark.parametrize("operation", ["delete", "overwrite"])
def test_a_refused_snapshot_names_the_option_that_skips_it(operation: str, tmp_path: Path) -> None:
    refused = Commit(operation, ((a_file("x"),),))
    table = seen(table_of(tmp_path, [append("a"), refused, append("b")]))
    named = f"Snapshot 2 .*streaming-skip-{operation}-snap"
    with pytest.raises(UnsupportedError, match=named):
        AppendStream(StreamOptions()).latest(table, NOTHING_READ, limited=True)
    limited = AppendStream(StreamOptions(max_rows=1))
    end = limited.latest(table, NOTHING_READ, limited=True)
    assert paths(limited.plan(table, NOTHING_READ, end)) == ["a"]
    with pytest.raises(UnsupportedError, match=named):
        limited.latest(table, end, limited=True)
    with pytest.raises(UnsupportedError, match=named):
        limited.plan(table, end, StreamOffset(3, 1))
    skipping = AppendStream(SKIPPING)
    last = skipping.latest(table, end, limited=True)
    assert paths(skipping.plan(table, end, last)) == ["b"]


def expired(base: TableMetadata, *ids: int) -> TableMetadata:
    return replace(
        base, snapshots={key: one for key, one in base.snapshots.items() if key not in ids}
    )


def test_a_stream_goes_on_though_the_snapshot_that_it_read_has_expired(tmp_path: Path) -> None:
    table = seen(expired(table_of(tmp_path, [append("a"), append("b")]), 1))
    stream = AppendStream(StreamOptions())
    read = StreamOffset(1, 1)
    end = stream.latest(table, read, limited=True)
    assert paths(stream.plan(table, read, end)) == ["b"]


def test_files_of_an_expired_snapshot_that_may_be_unread_are_an_error(tmp_path: Path) -> None:
    commits = [append("a", "b"), append("c")]
    unread = seen(expired(table_of(tmp_path / "1", commits), 1))
    with pytest.raises(NoSuchSnapshotError, match=r"Snapshot 1 .* has expired"):
        AppendStream(StreamOptions()).latest(unread, StreamOffset(1, 1), limited=True)
    merged = Commit("append", ((a_file("c"), a_file("a", status=EXISTING)),))
    unknown = seen(expired(table_of(tmp_path / "2", [commits[0], merged]), 1))
    with pytest.raises(NoSuchSnapshotError, match=r"Snapshot 1 .* has expired"):
        AppendStream(StreamOptions()).latest(unknown, StreamOffset(1, 2), limited=True)


def test_only_matching_files_are_read_under_a_filter_and_offsets_stay(tmp_path: Path) -> None:
    commits = [append("a", "b"), append("c")]
    table = seen(table_of(tmp_path, commits), row_filter="id > 3")
    stream = AppendStream(StreamOptions(max_files=1))
    ends = run(stream, table, NOTHING_READ)
    assert ends == [StreamOffset(1, 1), StreamOffset(2, 0), StreamOffset(2, 1)]
    batch = stream.plan(table, NOTHING_READ, ends[0])
    assert [task.residual for plan in batch.plans for task in plan] == [table.context.row_filter]


def test_a_start_by_time_is_the_first_snapshot_not_before_it(tmp_path: Path) -> None:
    base = table_of(tmp_path, [append("a"), append("b"), append("c")])
    second = base.snapshots[2].timestamp_ms
    for since, expected in ((second, ["b", "c"]), (second - 1, ["a", "b", "c"]), (0, list("abc"))):
        stream = AppendStream(StreamOptions(from_timestamp_ms=since))
        end = stream.latest(seen(base), NOTHING_READ, limited=True)
        assert sorted(paths(stream.plan(seen(base), NOTHING_READ, end))) == expected
    late = AppendStream(StreamOptions(from_timestamp_ms=second + 2))
    assert late.latest(seen(base), NOTHING_READ, limited=True) == NOTHING_READ
