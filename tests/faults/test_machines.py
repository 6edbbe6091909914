"""What machines do: processes are killed, disks are full, folders can't be written."""

import errno
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import CommitStateUnknownException, IcebergError, StorageError
from iceberg_spark.io import local_files
from tests.faults.killed import killed
from tests.faults.store import faulty_store
from tests.faults.verbs import CARE, VERBS, State, make, rows, states

EVERY = os.environ.get("FAULTS") == "all"
SIZES = (0, 1, 300, 700, 1500, 3000, 4000, 5000, 6000, 7000, 9000, 20000)
CHANGES = ("append", "overwrite_filter", "delete", "long_transaction")
SWAPS_ONLY = {"create", "add_column", "partition_by", "properties", "tag", "expire"}
States = tuple[State, State]
FULL = (errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT)


def ends(verb: str, where: Path) -> tuple[States, States]:
    """How a new table looks before the verb and after it."""
    make(str(where), verb)
    before = states(str(where))
    VERBS[verb](str(where))
    return before, states(str(where))


def calls_of(verb: str, where: Path) -> list[tuple[str, str]]:
    """The calls into the store that the verb makes on a new table."""
    with faulty_store() as calls:
        make(str(where), verb)
        calls.arm(None, None)
        VERBS[verb](str(where))
        return list(calls.made)


def moments(calls: int, swap: int) -> list[tuple[int, str]]:
    """The calls around the swap, and some of those long before it."""
    if not EVERY:
        return [(swap, "before"), (swap, "after"), (swap + 1, "before")]
    chosen = [*range(swap % 9, swap - 1, 9), *range(swap - 1, calls)]
    return [(at, moment) for at in chosen for moment in ("before", "after")]


@pytest.mark.parametrize("verb", VERBS if EVERY else ["append", "compact"])
def test_a_process_that_is_killed_leaves_the_table_as_it_was_up_to_the_swap_and_changed_after_it(
    tmp_path: Path, verb: str
):
    before, after = ends(verb, tmp_path / "reference")
    made = calls_of(verb, tmp_path / "calls")
    swap = max(at for at, call in enumerate(made) if call[0] == "create_if_absent")
    chosen = moments(len(made), swap)
    for at, moment in chosen:
        where = tmp_path / f"{at}-{moment}"
        make(str(where), verb)
        assert killed(str(where), verb, at, moment) == -signal.SIGKILL
        landed = at > swap or (at == swap and moment == "after")
        now = states(str(where))
        assert (now == after) == landed, (at, moment)
        assert landed or now == before or verb == "append_after_another", (at, moment)
    print(f"{verb}: {len(chosen)} processes killed")


@pytest.mark.parametrize("verb", CARE if EVERY else ["remove_orphans"])
def test_upkeep_that_is_killed_costs_no_file_of_the_table(tmp_path: Path, verb: str):
    where = tmp_path / "t"
    made = care_calls(verb, where)
    before = states(str(where))
    chosen = range(len(made)) if EVERY else (at for at, c in enumerate(made) if c[0] == "delete")
    for at in chosen:
        (where / "data" / "stray.parquet").write_bytes(b"stray")
        assert killed(str(where), verb, at, "after") == -signal.SIGKILL
        assert states(str(where)) == before, (at, made[at])
    CARE[verb](str(where))
    assert states(str(where)) == before


def care_calls(verb: str, where: Path) -> list[tuple[str, str]]:
    """The calls of upkeep on a table with a stray file."""
    with faulty_store() as calls:
        make(str(where))
        (where / "data" / "stray.parquet").write_bytes(b"stray")
        calls.arm(None, None)
        CARE[verb](str(where))
        return list(calls.made)


@contextmanager
def files_at_most(size: int) -> Iterator[None]:
    """Let the system refuse to make files larger than some bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def how_it_ends(verb: str, where: Path) -> str:
    try:
        VERBS[verb](str(where))
    except CommitStateUnknownException:
        return "unknown"
    except StorageError as error:
        return "refused" if str(where) in str(error) else "refused, naming no file"
    return "success"


def right_after(end: str, before: States, after: States) -> tuple[States, ...]:
    return {"unknown": (before, after), "refused": (before,), "success": (after,)}[end]


def files_of(where: Path) -> set[Path]:
    return {path for path in where.rglob("*") if path.is_file()}


@pytest.mark.parametrize("verb", CHANGES)
def test_a_disk_that_takes_part_of_a_file_leaves_the_table_as_the_verb_says(
    tmp_path: Path, verb: str
):
    before, after = ends(verb, tmp_path / "reference")
    found = []
    for size in SIZES if EVERY else SIZES[::4]:
        where = tmp_path / str(size)
        make(str(where), verb)
        files = files_of(where)
        with files_at_most(size):
            found.append(how_it_ends(verb, where))
        assert states(str(where)) in right_after(found[-1], before, after), size
        assert found[-1] != "refused" or files_of(where) == files, size
    print(f"{verb}: {len(found)} full disks")
    assert "refused" in found


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_full_disk_is_an_error_that_names_the_data_file_and_nothing_is_left(
    tmp_path: Path, file_format: str
):
    table = ice.create_table(
        str(tmp_path / "t"), "id bigint, k string",
        properties={"write.format.default": file_format},
    )  # fmt: skip
    files = files_of(tmp_path)
    for size in (0, 100, 300):
        with (
            files_at_most(size),
            pytest.raises(StorageError, match=rf"/data/.*\.{file_format}: .*File too large"),
        ):
            table.append(rows(*range(5000)))
        assert files_of(tmp_path) == files


@pytest.mark.parametrize("verb", VERBS if EVERY else CHANGES)
@pytest.mark.parametrize("number", FULL if EVERY else FULL[2:3])
@pytest.mark.parametrize("part", ["new files", "the sync", "the swap"])
def test_a_folder_that_can_not_be_written_leaves_the_table_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, number: int, part: str
):
    make(str(tmp_path / "t"), verb)
    before, files = states(str(tmp_path / "t")), files_of(tmp_path)

    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    def refuse_writing(path: str, mode: str) -> Any:
        return Path(path).open(mode) if mode == "rb" else refuse()

    match part:
        case "new files" if verb not in SWAPS_ONLY:
            monkeypatch.setattr(local_files.io, "FileIO", refuse)
        case "the sync":
            monkeypatch.setattr(local_files.os, "fsync", refuse)
        case _:
            monkeypatch.setattr(local_files, "open", refuse_writing, raising=False)
    with pytest.raises(IcebergError, match=os.strerror(number)):
        VERBS[verb](str(tmp_path / "t"))
    monkeypatch.undo()
    assert states(str(tmp_path / "t")) == before
    assert files_of(tmp_path) == files
