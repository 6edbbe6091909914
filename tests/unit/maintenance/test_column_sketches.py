"""Sketches of columns, data files by groups."""

from dataclasses import replace

from iceberg_spark.maintenance.column_sketches import merge_sketches, plan_sketches, sketch_groups
from iceberg_spark.maintenance.limits import SKETCHING
from tests.unit.api.tables import make, rows

MB = 1024 * 1024


def test_a_sketch_over_several_files_is_the_union_of_theirs() -> None:
    table = make()
    for start in (0, 3_000, 5_000):
        numbers = list(range(start, start + 4_000))
        table.append(rows(id=numbers, k=[str(one % 7) * (one % 7) for one in numbers]))
    head = table.current_snapshot()
    assert head is not None
    planned = plan_sketches(table.metadata, table.io, head.snapshot_id, ())
    work, tasks = planned.work, planned.tasks
    together = work.sketches(table.io, tasks)
    apart = merge_sketches([work.sketches(table.io, [task]) for task in tasks], 2)
    assert [one.to_bytes() for one in together] == [one.to_bytes() for one in apart]
    assert [int(one.estimate) for one in merge_sketches([apart], 2)][1] == 6


def test_groups_of_files_are_about_as_large_and_worth_a_task() -> None:
    table = make()
    table.append(rows(id=[1], k=["a"]))
    (task,) = table.scan().plan_files()

    def sizes(*each: int) -> list[int]:
        files = [replace(task, file_size_in_bytes=size * MB) for size in each]
        groups = sketch_groups(files)
        assert sorted(one.file_size_in_bytes for group in groups for one in group) == sorted(
            one.file_size_in_bytes for one in files
        )
        return [sum(one.file_size_in_bytes for one in group) // MB for group in groups]

    assert sizes() == []
    assert sizes(1, 2, 3) == [6]
    assert sizes(512, 512) == [512, 512]
    assert sizes(*[3] * 40) == [12] * 10
    assert len(sizes(*[20] * 1_200)) == SKETCHING.most_tasks
