"""Streams beside Java's: the same batches by the same options, and one checkpoint for both."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from tests.oracle import java_api
from tests.unit.streams.streamed import ids_in, offsets, running

SKIPPING = {
    "streaming-skip-delete-snapshots": "true",
    "streaming-skip-overwrite-snapshots": "true",
}
COMPACT = (
    "CALL j.system.rewrite_data_files(table => 'db.streamed', "
    "options => map('rewrite-all', 'true'))"
)
LIMITS: list[dict[str, str]] = [
    {},
    {"streaming-max-files-per-micro-batch": "2"},
    {"streaming-max-rows-per-micro-batch": "3"},
    {"streaming-max-files-per-micro-batch": "1", "streaming-max-rows-per-micro-batch": "2"},
    {"stream-from-timestamp": "middle", "streaming-max-files-per-micro-batch": "3"},
]


@pytest.fixture(scope="module")
def streamed(java: SparkSession) -> ice.Table:
    """Appends of several files, in manifests that are merged, deletes, overwrites, compactions."""
    java.sql(
        "CREATE TABLE j.db.streamed (id bigint, p int) USING iceberg PARTITIONED BY (p) "
        "TBLPROPERTIES ('commit.manifest.min-count-to-merge'='2')"
    )
    insert = "INSERT INTO j.db.streamed VALUES"
    for text in (
        f"{insert} (1, 1), (2, 1), (3, 2), (4, 3)",
        f"{insert} (5, 1), (6, 2)",
        "DELETE FROM j.db.streamed WHERE p = 3",
        f"{insert} (7, 1), (8, 1), (9, 1), (10, 2), (11, 4)",
        COMPACT,
        "INSERT OVERWRITE j.db.streamed VALUES (12, 1)",
        f"{insert} (13, 1), (14, 2)",
        COMPACT,
    ):
        java.sql(text)
    return ice.load_table(java_api.location(java, "streamed"))


def javas(java: SparkSession, options: dict[str, str]) -> DataFrame:
    return java.readStream.format("iceberg").options(**options).load("j.db.streamed")


def ours(java: SparkSession, table: ice.Table, options: dict[str, str]) -> DataFrame:
    return java.readStream.format("pyiceberg-lite").options(**options).load(table.location())


def run(frame: DataFrame, checkpoint: Path, place: Path | None = None) -> None:
    """Run a stream over what is there; with a place its rows are written there."""
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint))
    writer = writer.format("noop") if place is None else writer.format("parquet")
    writer = writer.trigger(availableNow=True)
    query = writer.start() if place is None else writer.start(str(place))
    assert query.awaitTermination(300)
    if query.exception() is not None:
        raise query.exception()


def logged(checkpoint: Path) -> list[dict[str, Any]]:
    """The ends of the batches that a checkpoint has."""
    files = (file for file in (checkpoint / "offsets").iterdir() if file.name.isdigit())
    ordered = sorted(files, key=lambda file: int(file.name))
    return [json.loads(file.read_text().splitlines()[-1]) for file in ordered]


def ids(place: Path) -> list[int]:
    """What lies in a folder, whichever batches its log knows."""
    files = place.glob("*.parquet")
    return sorted(row for file in files for row in pq.read_table(file)["id"].to_pylist())


def appended(table: ice.Table) -> list[int]:
    (batch,) = (
        ids_in(stream.plan(start, end))
        for stream in [running(table, **_named(SKIPPING))]
        for start, end in offsets(stream)
    )
    return batch


def _named(options: dict[str, str]) -> dict[str, str]:
    return {key.replace("-", "_"): value for key, value in options.items()}


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_batches_end_where_javas_do(
    java: SparkSession, streamed: ice.Table, limits: dict[str, str], tmp_path: Path
) -> None:
    options = {**SKIPPING, **limits}
    if "stream-from-timestamp" in options:
        middle = streamed.snapshots()[3].timestamp_ms
        options["stream-from-timestamp"] = str(middle - 1)
    run(javas(java, options), tmp_path)
    ends = [end.as_json() for _, end in offsets(running(streamed, **_named(options)))]
    assert ends == logged(tmp_path)


def test_our_rows_are_those_that_java_reads(
    java: SparkSession, streamed: ice.Table, tmp_path: Path
) -> None:
    run(javas(java, SKIPPING), tmp_path / "c", tmp_path / "rows")
    assert ids(tmp_path / "rows") == appended(streamed) == [*range(1, 12), 13, 14]


def test_a_checkpoint_of_javas_goes_on_here(
    java: SparkSession, streamed: ice.Table, tmp_path: Path
) -> None:
    """Java read three batches of one file each and stopped within a snapshot."""
    options = {**SKIPPING, "streaming-max-files-per-micro-batch": "1"}
    run(javas(java, options), tmp_path / "java", tmp_path / "all")
    checkpoint, place = tmp_path / "cut", tmp_path / "rows"
    shutil.copytree(tmp_path / "java", checkpoint)
    for number in range(2, len(logged(checkpoint))):
        for folder in ("offsets", "commits"):
            (checkpoint / folder / str(number)).unlink()
            (checkpoint / folder / f".{number}.crc").unlink(missing_ok=True)
    run(ours(java, streamed, SKIPPING), checkpoint, place)
    assert logged(checkpoint)[-1] == logged(tmp_path / "java")[-1]
    rest = ids(place)
    first_two = set(appended(streamed)) - set(rest)
    assert rest == sorted(set(appended(streamed)) - first_two)
    assert first_two in ({1, 2, 3}, {1, 2, 4}, {3, 4})


def test_a_checkpoint_of_ours_goes_on_in_java(
    java: SparkSession, streamed: ice.Table, tmp_path: Path
) -> None:
    """PySpark 4.1 ends a run of ours after one batch, here within a snapshot."""
    checkpoint, place = tmp_path / "checkpoint", tmp_path / "rows"
    run(
        ours(java, streamed, {**SKIPPING, "streaming-max-files-per-micro-batch": "2"}),
        checkpoint,
        place,
    )
    assert len(logged(checkpoint)) == 1
    assert 1 <= len(ids(place)) < 4
    run(javas(java, SKIPPING), checkpoint, place)
    assert len(logged(checkpoint)) == 2
    assert ids(place) == appended(streamed)
