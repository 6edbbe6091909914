"""Measure and write benchmarks/results.md: `make bench`, all sections.

Environment: BENCH_ONLY (comma list of sections, see `sections`), BENCH_ROWS (10,000,000),
BENCH_ROUNDS (5), BENCH_FILES (200,000), BENCH_MANY_FILES (1,000,000), BENCH_SMALL_FILES
(20,000), BENCH_STRESS_SECONDS (60), BENCH_TPCH_PERCENT (100: scale 1). A
section's figures replace those it had; those of the others stay in the report.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from benchmarks.measure import peak_memory_mb
from benchmarks.report import keep, write_report
from benchmarks.sections import SECTIONS, Size
from benchmarks.session import session


def main() -> int:
    """Run the sections one after the other; one that fails is named, and the others go on."""
    size = Size.of_environment()
    chosen = os.environ.get("BENCH_ONLY", ",".join(SECTIONS)).split(",")
    unknown = [name for name in chosen if name not in SECTIONS]
    if unknown:
        print(f"No section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
        return 2
    failed = [name for name in chosen if not _measured(name, size)]
    write_report(Path("benchmarks/results.md"), list(SECTIONS))
    if failed:
        print(f"Failed: {', '.join(failed)}")
    return 1 if failed else 0


def _measured(name: str, size: Size) -> bool:
    """Run a section in a session and a warehouse of its own, and keep what it found."""
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
    spark = session(folder)
    try:
        found = SECTIONS[name](spark, folder, size)
    except Exception:  # noqa: BLE001 - named at the end
        traceback.print_exc()
        return False
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    memory = {"peak memory of the driver's Python": f"{peak_memory_mb():,.0f} MB"}
    keep(name, size.rows, size.rounds, found.works, {**found.facts, **memory})
    print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
