"""Every notebook runs, and what it shows is what it showed when it was committed."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

from scripts.run_notebooks import NOTEBOOKS, executed
from tests.spark.processes import users_path

FOUND = sorted(NOTEBOOKS.glob("*.ipynb"))
CHANGING = ("/tmp/", "/var/")  # folders that have another name at each run

pytestmark = [
    pytest.mark.spark,
    pytest.mark.own_process,
    pytest.mark.slow,
    # The kernel's own talk; its client is not ours to mend.
    pytest.mark.filterwarnings("ignore:.*[Kk]ernel.*"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:(jupyter|nbclient|zmq|traitlets).*"),
]


def shown(notebook: Any) -> list[str]:
    """The text of each result that is the same at each run; cells with times have the tag varies."""
    texts = [
        output["data"]["text/plain"]
        for cell in notebook.cells
        if "varies" not in cell.metadata.get("tags", ())
        for output in cell.get("outputs", ())
        if "data" in output
    ]
    return [text for text in texts if not any(folder in text for folder in CHANGING)]


def test_there_are_notebooks():
    assert [path.name for path in FOUND] == [
        "evolution.ipynb",
        "flights.ipynb",
        "lineage.ipynb",
        "maintenance.ipynb",
        "sql.ipynb",
        "streaming.ipynb",
        "upserts.ipynb",
    ]


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_a_notebook_runs_as_a_newcomer_starts_it_and_shows_what_it_showed(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    monkeypatch.setenv("PYTHONPATH", users_path())
    before = shown(nbformat.read(path, as_version=4))
    assert len(before) > 3
    assert shown(executed(path)) == before
