"""One process that runs inputs, and says before each which one it is, should it be the last."""

from __future__ import annotations

import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from iceberg_spark.errors import IcebergError, NoSuchFileError
from tests.fuzz.mutations import changed
from tests.fuzz.targets import Input, inputs

SECONDS, WAITING = 10, 12
BYTES = 512 * 1024 * 1024


def main(first: int, end: int, deadline: float) -> None:
    """Run the inputs of the numbers from `first` to `end`, until a time."""
    all_inputs = inputs()
    with tempfile.TemporaryDirectory() as folder:
        for one in unchanged(all_inputs):  # all is loaded before memory is measured
            _say(f"{one.name} as it is", run(one, one.data, Path(folder)))
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))
        for number in range(first, end):
            if time.time() > deadline:
                return
            one, data = input_of(number, all_inputs)
            print("at", number, one.name, flush=True)
            _end_after(SECONDS)
            _say(str(number), run(one, data, Path(folder)))
            _end_after(0)


def _end_after(seconds: int) -> None:
    """End the process after so much work of its own, or much later where it waits for nothing.

    On a busy machine the clock alone would say little.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAITING * seconds)


def unchanged(all_inputs: list[Input]) -> list[Input]:
    """Return one input for each way of reading, and every file that is read alone."""
    tables = [one for one in all_inputs if one.others]
    return [*tables[:1], *(one for one in all_inputs if not one.others)]


def input_of(number: int, all_inputs: list[Input]) -> tuple[Input, bytes]:
    """Return the input of a number and its changed data."""
    chance = random.Random(number)
    one = chance.choice(all_inputs)
    return one, changed(one.data, chance)


def run(one: Input, data: bytes, folder: Path) -> str | None:
    """Return what is wrong with how an input ends, None for nothing."""
    for name, content in {**one.others, one.name: data}.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            path.write_bytes(content)
    for path in folder.iterdir():
        if path.name not in one.others and path.name != one.name:
            path.unlink()
    try:
        one.run(folder, one.name)
    except IcebergError as error:
        names = {one.name, *one.others, str(folder)}
        missing = isinstance(error, NoSuchFileError)  # it names the file that a name became
        if not missing and not any(name in str(error) for name in names):
            return f"names no file: {type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001 - that is what is looked for
        last = traceback.extract_tb(error.__traceback__)
        place = " < ".join(f"{Path(at.filename).name}:{at.lineno}" for at in reversed(last[-6:]))
        return f"{type(error).__name__}: {str(error)[:200]} at {place}"
    return None


def _say(what: str, wrong: str | None) -> None:
    if wrong is not None:
        print("wrong", what, wrong.replace("\n", " "), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
