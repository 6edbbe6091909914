"""No key came in two tasks: proved by sorted hashes, few at a time."""

import subprocess
import sys
import uuid
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.arrow.row_hashes import key_hashes
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.write import task_keys
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.task_keys import KeyCollector, TaskKeys, key_files, refuse_shared_keys
from tests.builders import metadata
from tests.limits import set_limits

IO = FsspecIO()


def context() -> WriteContext:
    return write_context(metadata(location=f"memory://keys/{uuid.uuid4().hex}"))


def left(write: WriteContext, task: int, keys: Sequence[int]) -> TaskKeys:
    """What a task leaves that had these keys."""
    hashes = np.sort(key_hashes([pa.array(keys, pa.int64())]))
    collector = KeyCollector(write, IO, TaskId(task, 0))
    for part in np.array_split(hashes, 3):
        collector.add(part)
    return collector.finish()


@pytest.fixture(params=["in the message", "in files", "in files, slice by slice"])
def _where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "in the message":
        set_limits(monkeypatch, task_keys, "UPSERTS", hashes_in_message=10)
    if request.param == "in files, slice by slice":
        set_limits(monkeypatch, task_keys, "UPSERTS", hashes_at_once=512)


@pytest.mark.usefixtures("_where")
def test_tasks_with_keys_of_their_own_pass() -> None:
    write = context()
    refuse_shared_keys(IO, [left(write, n, range(n, 9000, 4)) for n in range(4)], ["id"])
    refuse_shared_keys(IO, [left(write, 0, [])], ["id"])
    refuse_shared_keys(IO, [], ["id"])


@pytest.mark.usefixtures("_where")
@pytest.mark.parametrize("shared", [0, 4711, 8999])
def test_one_shared_key_is_found_and_the_message_says_how_to_repartition(shared: int) -> None:
    write = context()
    tasks = [left(write, n, [*range(n, 9000, 4)]) for n in range(4)]
    tasks[(shared + 1) % 4] = left(write, 7, [*range((shared + 1) % 4, 9000, 4), shared])
    with pytest.raises(InvalidInputError, match=r"repartition\(id\)"):
        refuse_shared_keys(IO, tasks, ["id"])


def test_many_hashes_lie_in_a_file_that_is_named_by_the_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_limits(monkeypatch, task_keys, "UPSERTS", hashes_in_message=10)
    write = context()
    few, many = left(write, 0, range(10)), left(write, 1, range(10, 100))
    assert (few.path, len(few.held)) == (None, 80)
    assert many.held == b""
    assert list(key_files([few, many])) == [many.path]
    assert many.path is not None
    assert write.write_id in many.path


def test_hashes_are_the_same_in_every_process() -> None:
    """Else a key could come in two tasks unseen."""
    columns = "[pa.array(['a', None, 'b' * 40]), pa.array([1, 2, None], pa.int64())]"
    program = (
        "import pyarrow as pa; from iceberg_spark.arrow.row_hashes import key_hashes; "
        f"print(key_hashes({columns}).tolist())"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    here = key_hashes([pa.array(["a", None, "b" * 40]), pa.array([1, 2, None], pa.int64())])
    assert said.stdout.strip() == str(here.tolist())


def test_tasks_that_hash_differently_are_found_out() -> None:
    with pytest.raises(InvalidInputError, match="polars"):
        refuse_shared_keys(IO, [TaskKeys(0, 0, 1), TaskKeys(1, 0, 2)], ["id"])
