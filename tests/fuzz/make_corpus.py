"""Makes the part of the corpus that our writers write; Java's files are kept as they came."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark.spec.metadata_json import metadata_to_json
from tests.builders import EVENTS, metadata
from tests.fuzz.targets import CORPUS

TABLES = {
    "ours_parquet": {"write.metadata.compression-codec": "gzip"},
    "ours_avro": {
        "write.format.default": "avro",
        "write.delete.format.default": "avro",
        "write.manifest.compression-codec": "zstd",
    },
    "ours_orc": {
        "write.format.default": "orc",
        "write.delete.format.default": "orc",
        "write.manifest.compression-codec": "snappy",
    },
    "ours_v3": {"format-version": "3"},
    "ours_v1": {"format-version": "1", "write.manifest.compression-codec": "uncompressed"},
}
SCHEMA = (
    "id bigint, k string, d decimal(9,2), s struct<a: int, l: array<double>>, m map<string,int>"
)


def main() -> None:
    for name, properties in TABLES.items():
        with tempfile.TemporaryDirectory() as folder:
            _table(f"{folder}/t", properties)
            _keep(Path(folder) / "t", CORPUS / "tables" / name)
    (CORPUS / "imported.json").write_text(metadata_to_json(metadata(EVENTS)))
    _files()


def _table(where: str, properties: dict[str, str]) -> None:
    table = ice.create_table(
        where, SCHEMA, partition_by=["k", "bucket(2, id)"], properties=properties
    )
    for first in (0, 20):
        numbers = list(range(first, first + 20))
        rows = pa.table({
            "id": pa.array(numbers, pa.int64()),
            "k": ["a"] * 20,
            "d": pa.array([None] * 20, pa.decimal128(9, 2)),
            "s": pa.array([{"a": at, "l": [1.5, at]} for at in numbers],
                pa.struct([("a", pa.int32()), ("l", pa.list_(pa.float64()))])),
            "m": pa.array([[("x", at)] for at in numbers], pa.map_(pa.string(), pa.int32())),
        })  # fmt: skip
        table.append(rows)
    if properties.get("format-version") == "1":
        return
    table.update_properties().set({"write.delete.mode": "merge-on-read"}).commit()
    table = ice.load_table(where)
    table.delete("id in (3, 4, 25)")


def _keep(table: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for old in to.iterdir():
        old.unlink()
    metadata_files = sorted(table.glob("metadata/v*.json"), key=lambda one: one.stat().st_mtime)
    files = [one for one in table.rglob("*") if one.is_file() and one not in metadata_files[:-1]]
    for one in files:
        (to / one.name).write_bytes(one.read_bytes())


def _files() -> None:
    folder = CORPUS / "files"
    folder.mkdir(exist_ok=True)
    for name in ("java.avro", "java_new_york.orc", "spark_legacy.parquet"):
        source = Path("tests/unit/formats/data") / name
        (folder / name).write_bytes(source.read_bytes())


if __name__ == "__main__":
    main()
