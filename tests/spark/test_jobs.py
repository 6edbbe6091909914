"""Jobs and rows handed to Spark's tasks: what comes back, classic and over Connect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from iceberg_spark.errors import CorruptFileError, InvalidInputError
from iceberg_spark.spark.adapt import jobs
from iceberg_spark.spark.adapt.jobs import job_results
from iceberg_spark.spark.adapt.task_results import Payload, payload, results


@dataclass(frozen=True, slots=True)
class Multiplied:
    """A typed result."""

    given: int
    product: int


@dataclass(frozen=True, slots=True)
class Multiply:
    """What all jobs share, sent once."""

    factor: Payload[int]

    def by_factor(self, number: int) -> Multiplied:
        return Multiplied(number, number * self.factor.opened())

    def unless_odd(self, number: int) -> Multiplied:
        if number % 2:
            raise CorruptFileError(f"{number} is odd")
        return self.by_factor(number)

    def sums(self, batches: Iterable[pa.RecordBatch]) -> dict[str, int]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        return {name: sum(row[name] for row in rows) for name in rows[0]}


@pytest.mark.parametrize("most", [jobs.CLOSURE_BYTES, 0])
def test_each_job_gives_one_result_in_the_jobs_order(
    any_spark: Any, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "CLOSURE_BYTES", most)
    work = Multiply(payload(3)).by_factor
    assert job_results(any_spark, [5, 4, 9], work) == [
        Multiplied(5, 15),
        Multiplied(4, 12),
        Multiplied(9, 27),
    ]


def test_no_jobs_give_no_results(any_spark: Any) -> None:
    assert job_results(any_spark, [], Multiply(payload(3)).by_factor) == []


def test_an_error_of_this_library_keeps_its_type(any_spark: Any) -> None:
    task = Multiply(payload(3)).unless_odd
    with pytest.raises(CorruptFileError, match=r"^5 is odd$"):
        job_results(any_spark, [4, 5, 7], task, final=(CorruptFileError,))


def test_an_error_that_another_attempt_may_not_meet_is_left_to_spark(any_spark: Any) -> None:
    with pytest.raises(Exception, match="5 is odd") as met:
        job_results(any_spark, [4, 5], Multiply(payload(3)).unless_odd, final=(InvalidInputError,))
    assert not isinstance(met.value, CorruptFileError)


def test_columns_of_any_names_reach_the_work_under_the_names_it_asks_for(any_spark: Any) -> None:
    frame = any_spark.range(3).repartition(1).toDF("a.b`c").selectExpr("`a.b``c`", "1 AS `A`")
    done = results(frame, Multiply(payload(1)).sums, names=["x.y", "z"])
    assert done == [{"x.y": 3, "z": 3}]
