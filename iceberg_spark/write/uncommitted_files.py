"""Files of one write that no commit took: of failed, retried and speculative tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

from iceberg_spark.errors import IcebergError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.limits import LOOKS
from iceberg_spark.write.locations import data_folder


def remove_written(io: FileIO, paths: Iterable[str]) -> None:
    """Delete files while another error is being raised; errors of the deletion are ignored.

    An interrupt must not become a StorageError. Remaining files are left to orphan removal.
    """
    with suppress(IcebergError):
        io.delete_many(paths)


def remove_aborted(io: FileIO, context: WriteContext, *, outlive: bool = True) -> None:
    """Delete every file of a write that failed, while its error is raised, as `remove_written`.

    With `outlive` it ran on Spark, and tasks may outlive it: then in some seconds' looks.
    """
    _look(io, context, keep=(), aborted=True, several=outlive)


def remove_other_attempts(
    io: FileIO, context: WriteContext, keep: Collection[str], *, outlive: bool
) -> None:
    """Delete the files of failed or superseded attempts.

    With `outlive` there were, or may have been, such attempts, and a worker may outlive its
    attempt: then the folders are scanned again for some seconds. Remaining files are left to orphan
    removal: the write succeeded.
    """
    _look(io, context, keep, aborted=False, several=outlive)


def _look(
    io: FileIO, context: WriteContext, keep: Collection[str], *, aborted: bool, several: bool
) -> None:
    def look() -> Collection[str]:
        with suppress(IcebergError):
            return remove_strays(io, context, keep, aborted=aborted)
        return ()

    if several:
        _look_until_quiet(look)
    else:
        look()


def _look_until_quiet(look: Callable[[], Collection[str]]) -> None:
    for pause in LOOKS.pauses_s:
        time.sleep(pause)
        strays = look()
    for _ in range(LOOKS.more):
        if not strays:
            return
        time.sleep(LOOKS.pauses_s[-1])
        strays = look()


def remove_strays(
    io: FileIO,
    context: WriteContext,
    keep: Collection[str],
    *,
    aborted: bool = False,
) -> tuple[str, ...]:
    """Delete the files of `context.write_id` that are not in `keep`; return their locations.

    After a commit only the folders of committed files are scanned: a retried task wrote to the same
    partitions. After an abort the complete data folder is scanned. Files are recognised by their
    name, or by their folder if Spark's own writer created them; that folder was cleaned when its
    files were described.
    """
    kept_paths = {location.normalise(path) for path in keep}
    marker, own_folder = f"-{context.write_id}-", f"/{context.write_id}"
    folder_of_all = data_folder(context.table_location, context.properties)
    spread = [path for path in keep if own_folder not in path]
    looked = (folder_of_all,) if aborted else folders_of(spread)
    strays = {
        info.path
        for folder in looked
        for info in io.list(folder)
        if (marker in location.name(info.path) or own_folder in info.path)
        and location.normalise(info.path) not in kept_paths
    }
    io.delete_many(sorted(strays))
    return tuple(sorted(strays))


def folders_of(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the folders of the files, without those inside another one of them."""
    folders = sorted({location.parent(path) for path in paths})
    outer: list[str] = []
    for folder in folders:
        if not outer or not folder.startswith(f"{outer[-1]}/"):
            outer.append(folder)
    return tuple(outer)
