"""Tasks that are read ahead give the batches of tasks read one after another."""

import threading
from collections.abc import Iterator

import pytest

from iceberg_spark.read.task_reader import read_ahead


def test_batches_come_in_the_order_of_the_tasks():
    assert list(read_ahead(range(20), lambda n: iter([n, n + 0.5]), 3)) == [
        n + half for n in range(20) for half in (0, 0.5)
    ]


def test_no_more_tasks_are_begun_than_are_held():
    begun: list[int] = []

    def read(number: int) -> Iterator[int]:
        begun.append(number)
        yield number

    batches = read_ahead(range(100), read, 3)
    next(batches)
    assert max(begun) <= 2
    batches.close()
    assert len(begun) <= 3


def test_tasks_are_read_at_the_same_time():
    together = threading.Barrier(3, timeout=30)

    def read(number: int) -> Iterator[int]:
        together.wait()
        yield number

    assert list(read_ahead(range(3), read, 3)) == [0, 1, 2]


def test_an_error_of_a_task_is_raised_in_its_place():
    def read(number: int) -> Iterator[int]:
        if number == 2:
            raise KeyError(number)
        yield number

    batches = read_ahead(range(9), read, 2)
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(KeyError):
        next(batches)
