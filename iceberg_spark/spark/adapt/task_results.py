"""Values that travel to Spark's tasks pickled, and the typed values that tasks bring back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from iceberg_spark.errors import IcebergError
from iceberg_spark.spark.adapt.map_arrow import Batches, map_in_arrow, map_plain_names
from iceberg_spark.spark.session.in_worker import in_worker

R = TypeVar("R")
Final: TypeAlias = tuple[type[IcebergError], ...]
"""Errors that come of the rows and files themselves, so that no other attempt would go better."""

RESULT = "result binary"


@dataclass(frozen=True, slots=True)
class _Result(Generic[R]):
    """What each task runs; pickled with the plan."""

    work: Callable[[Batches], R]
    final: Final

    @in_worker
    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        yield result_batch(lambda: self.work(batches), self.final)


def results(
    frame: DataFrame,
    work: Callable[[Batches], R],
    *,
    names: Sequence[str] | None = None,
    final: Final = (),
) -> list[R]:
    """Return what `work` makes of the rows of each of a frame's partitions, in their order.

    `names` is what the work calls the columns; without it these have names of our own. An error of
    the kinds `final` is not tried again: it is raised here, as it is, when all tasks have ended, so
    that none of them still writes. Any other error is Spark's, after its attempts.
    """
    task = _Result(work, final)
    if names is None:
        return collect_results(map_plain_names(frame, task, RESULT))
    return collect_results(map_in_arrow(frame, task, RESULT, names))


def result_batch(work: Callable[[], R], final: Final) -> pa.RecordBatch:
    """Return a row with what comes of some work, or with the error that is as good as a result."""
    done: R | IcebergError
    try:
        done = work()
    except final as error:
        done = error
    return pa.record_batch({"result": pa.array([pickle_value(done)], pa.binary())})


def collect_results(rows: DataFrame) -> list[R]:
    """Return the results in a frame of them. Raises the first of our errors that is among them."""
    results: list[R] = []
    for row in rows.collect():
        result = unpickle_value(bytes(row.result))
        if isinstance(result, IcebergError):
            raise result
        results.append(result)
    return results


# Pickled values on their way to Spark's tasks and back; no other module unpickles.
#
# Only bytes that this package pickled itself, on the driver or in a task of the same job, are
# unpickled here: never bytes of a file or from a user.

T = TypeVar("T")
_CODEC = "zstd"


def pickle_value(value: object) -> bytes:
    """Return a value as bytes."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpickle_value(data: bytes) -> Any:
    """Return the value of bytes from `pickle_value`."""
    return pickle.loads(data)  # noqa: S301 - bytes of our own


@dataclass(frozen=True, slots=True)
class Payload(Generic[T]):
    """A compressed value on its way to tasks or back; it is opened where it is used.

    `size` is the number of bytes before compression.
    """

    data: bytes
    size: int

    def opened(self) -> T:
        """Return the value."""
        value: T = unpickle_value(pa.decompress(self.data, self.size, codec=_CODEC, asbytes=True))
        return value


def payload(value: T) -> Payload[T]:
    """Return a value ready to travel."""
    data = pickle_value(value)
    return Payload(pa.compress(data, codec=_CODEC, asbytes=True), len(data))
