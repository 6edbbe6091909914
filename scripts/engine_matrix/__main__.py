"""Reads tables of this library with other engines, and prints which engine reads which.

python -m scripts.engine_matrix           # print the tables
python -m scripts.engine_matrix --write   # write them into docs/engines.md
"""

import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.engine_matrix.engines import ENGINES, install, read_tables, versions
from scripts.engine_matrix.report import Outcome, insert_report, judge, report
from scripts.engine_matrix.tables import VARIANTS, newest_metadata

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engines.md"


def main() -> None:
    """Write the tables, run the engines, and print or store the report."""
    for engine in ENGINES:
        install(engine)
    with TemporaryDirectory() as folder:
        text = report(run_engines(Path(folder)), {e.title: versions(e) for e in ENGINES})
    if "--write" in sys.argv[1:]:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(insert_report(page, text), encoding="utf-8")
    else:
        print(text)


def run_engines(folder: Path) -> dict[str, dict[str, Outcome]]:
    """Return each engine's outcome for each variant, by their titles."""
    tables = folder / "tables"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the codec brotli
        rows = {v.name: v.write(v.location(tables)) for v in VARIANTS}
    metadata = {v.name: newest_metadata(v.location(tables)) for v in VARIANTS}
    outcomes = {}
    for engine in ENGINES:
        print(f"Reading with {engine.title}", file=sys.stderr)
        results = tables / f"results_{engine.reader}"
        results.mkdir()
        errors = read_tables(engine, metadata, results)
        outcomes[engine.title] = {
            v.title: judge(rows[v.name], errors[v.name], results / f"{v.name}.arrow")
            for v in VARIANTS
        }
    return outcomes


if __name__ == "__main__":
    main()
