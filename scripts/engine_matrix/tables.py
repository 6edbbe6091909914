"""Small tables by this library, each with one property that some engines cannot read."""

import datetime as dt
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

import iceberg_spark as ice
from iceberg_spark import Table
from scripts.engine_matrix.compare import VARIANT_TYPE

DDL = "id bigint, name string"
ROWS = pa.table({"id": [1, 2, 3, 4, 5, 6], "name": ["a", "b", None, "d", "e", ""]})
_NO_NULLS = pa.table({"id": [1, 2, 3, 4, 5, 6], "name": ["a", "b", "c", "d", "e", "f"]})
_NULL_KEY = _NO_NULLS.set_column(0, "id", pa.array([1, 2, None, 4, 5, 6], pa.int64()))


@dataclass(frozen=True, slots=True)
class Variant:
    """A kind of table: `write` creates it at a location and returns the rows it must have."""

    title: str
    write: Callable[[str], pa.Table]
    spelling: str = "file://{path}"

    @property
    def name(self) -> str:
        """The title as the name of a folder."""
        return "".join(c if c.isascii() and c.isalnum() else "_" for c in self.title.lower())

    def location(self, folder: Path) -> str:
        """Return the location below a folder, as the table's metadata spells it."""
        return self.spelling.format(path=folder / self.name)


def _create(
    location: str,
    ddl: str = DDL,
    partition_by: Sequence[str] = (),
    properties: dict[str, str] | None = None,
) -> Table:
    return ice.create_table(location, ddl, partition_by=partition_by, properties=properties)


def _appended(
    properties: dict[str, str] | None = None,
    *,
    rows: pa.Table = ROWS,
    ddl: str = DDL,
    partition_by: Sequence[str] = (),
) -> Callable[[str], pa.Table]:
    def write(location: str) -> pa.Table:
        _create(location, ddl, partition_by, properties).append(rows)
        return rows

    return write


def _deleted(**properties: str) -> Callable[[str], pa.Table]:
    """Two data files, and position deletes (vectors in version 3) for both."""
    settings = {"write.delete.mode": "merge-on-read", **_dotted(properties)}

    def write(location: str) -> pa.Table:
        table = _create(location, properties=settings)
        table.append(ROWS.slice(0, 3))
        table.append(ROWS.slice(3))
        table.delete("id IN (2, 5)")
        return ROWS.take([0, 2, 3, 5])

    return write


def _upserted(
    rows: pa.Table = _NO_NULLS, partition_by: Sequence[str] = (), **properties: str
) -> Callable[[str], pa.Table]:
    """A data file, and an upsert by key: equality deletes and new rows."""

    def write(location: str) -> pa.Table:
        table = _create(location, partition_by=partition_by, properties=_dotted(properties))
        table.append(rows)
        changes = pa.table({"id": [2, 7], "name": ["new", "more"]})
        table.upsert(changes, ["id"])
        return pa.concat_tables([rows.take([0, 2, 3, 4, 5]), changes])

    return write


def _maintained(*steps: Callable[[Table], object]) -> Callable[[str], pa.Table]:
    """Equality deletes with NULL among the keys, and then the steps of maintenance."""

    def write(location: str) -> pa.Table:
        rows = _upserted(_NULL_KEY)(location)
        table = ice.load_table(location)
        for step in steps:
            step(table)
        return rows

    return write


def _convert(table: Table) -> None:
    table.maintenance.convert_equality_deletes()


def _compact(table: Table) -> None:
    table.maintenance.rewrite_data_files(options={"delete-file-threshold": 1})


def _remove_dangling(table: Table) -> None:
    table.maintenance.remove_dangling_deletes()


def _dotted(properties: dict[str, str]) -> dict[str, str]:
    return {name.replace("__", "-").replace("_", "."): text for name, text in properties.items()}


def _added_folder(location: str) -> pa.Table:
    """Files of a `k=v` folder, which do not hold the column `k`."""
    table = _create(location, "id bigint, k string", ["k"])
    files = []
    for key, ids in (("a", [1, 2]), ("b", [3])):
        folder = Path(f"{urlsplit(location).path}_files", f"k={key}")
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), folder / "x.parquet")
        files.append(str(folder / "x.parquet"))
    table.add_files(files)
    return pa.table({"id": [1, 2, 3], "k": ["a", "a", "b"]})


def _evolved(location: str) -> pa.Table:
    """A file from before a column was renamed, one widened and one added."""
    table = _create(location, "id int, name string")
    table.append(ROWS.slice(0, 3).set_column(0, "id", pa.array([1, 2, 3], pa.int32())))
    with table.update_schema() as update:
        update.update_column("id", "bigint")
        update.rename_column("name", "title")
        update.add_column("extra", "int")
    extra = pa.array([4, 5, 6], pa.int32())
    table.append(ROWS.slice(3).rename_columns(["id", "title"]).append_column("extra", extra))
    nulls = pa.array([None, None, None, 4, 5, 6], pa.int32())
    return ROWS.rename_columns(["id", "title"]).append_column("extra", nulls)


def _upgraded(location: str) -> pa.Table:
    table = _create(location, properties={"format-version": "1"})
    table.append(ROWS.slice(0, 3))
    table.update_properties().set({"format-version": "2"}).commit()
    table.append(ROWS.slice(3))
    return ROWS


def _default_value(location: str) -> pa.Table:
    table = _create(location, properties={"format-version": "3"})
    table.append(ROWS)
    with table.update_schema() as update:
        update.add_column("n", "int", default_value=7)
    return ROWS.append_column("n", pa.array([7] * 6, pa.int32()))


def _variants(**properties: str) -> Callable[[str], pa.Table]:
    # The object {"a": n}: a dictionary with the name `a`, and one field of the type int8.
    values = [
        {"metadata": b"\x01\x01\x00\x01a", "value": bytes([2, 1, 0, 0, 2, 0x0C, number])}
        for number in (1, 2, 3)
    ]
    rows = pa.table({"id": [1, 2, 3], "v": pa.array(values, VARIANT_TYPE)})
    settings = {"format-version": "3", **_dotted(properties)}
    return _appended(settings, rows=rows, ddl="id bigint, v variant")


_SCALARS = pa.table(
    {
        "id": [1, 2],
        "u": pa.array([uuid.UUID(int=5).bytes, None], pa.binary(16)),
        "f": pa.array([b"abc", None], pa.binary(3)),
        "d": pa.array([Decimal("1.50"), None], pa.decimal128(30, 2)),
        "ts": pa.array([dt.datetime.fromisoformat("2024-02-29T12:00"), None], pa.timestamp("us")),
    }
)
_TIMES = pa.table({"id": [1, 2], "t": pa.array([dt.time(1, 2, 3, 4), None], pa.time64("us"))})
_NESTED = pa.table(
    {
        "id": [1, 2],
        "s": pa.array([{"a": 1, "b": "x"}, None], pa.struct([("a", pa.int32()), ("b", pa.utf8())])),
        "l": pa.array([[1, None], None], pa.list_(pa.int32())),
        "m": pa.array([[("k", 1)], None], pa.map_(pa.utf8(), pa.int32())),
    }
)
_NESTED_DDL = "id bigint, s struct<a: int, b: string>, l array<int>, m map<string, int>"
_FIXED = pa.table({"id": [1, 2], "f": pa.array([b"abc", b"xyz"], pa.binary(3))})
_NANOS = pa.table({"id": [1], "n": pa.array([1704067200123456789], pa.timestamp("ns"))})
_UNKNOWN = pa.table({"id": [1, 2], "u": pa.nulls(2)})
_POINT = bytes.fromhex("0101000000000000000000f03f0000000000000040")
_GEOMETRY = pa.table({"id": [1], "g": pa.array([_POINT], pa.binary())})
_DAYS = pa.table(
    {
        "id": [1, 2, 3],
        "ts": pa.array([0, 86_400_000_000, None], pa.timestamp("us", tz="UTC")),
        "name": ["one", "two", None],
    }
)
_V3 = {"format-version": "3"}


def _codec(name: str) -> Variant:
    properties = {"write.parquet.compression-codec": name}
    return Variant(f"Parquet data, {name}", _appended(properties))


def _manifests(name: str) -> Variant:
    properties = {"write.manifest.compression-codec": name}
    return Variant(f"manifests, {name}", _appended(properties))


VARIANTS = (
    Variant("version 2, Parquet, zstd (the defaults)", _appended()),
    Variant("version 1", _appended({"format-version": "1"})),
    Variant("version 1, upgraded to 2", _upgraded),
    Variant("version 3", _appended(_V3)),
    Variant("bare paths (`/folder`)", _appended(), "{path}"),
    Variant("paths with one slash (`file:/folder`)", _appended(), "file:{path}"),
    Variant("metadata, gzip", _appended({"write.metadata.compression-codec": "gzip"})),
    _manifests("zstd"),
    _manifests("snappy"),
    _manifests("uncompressed"),
    *(_codec(name) for name in ("snappy", "gzip", "uncompressed", "lz4", "brotli")),
    Variant("ORC data", _appended({"write.format.default": "orc"})),
    Variant("Avro data", _appended({"write.format.default": "avro"})),
    Variant(
        "hidden partitions (bucket, day, truncate)",
        _appended(
            rows=_DAYS,
            ddl="id bigint, ts timestamp, name string",
            partition_by=["bucket(2, id)", "days(ts)", "truncate(2, name)"],
        ),
    ),
    Variant("partitioned by a text", _appended(partition_by=["name"])),
    Variant(
        "partitioned by a `fixed`",
        _appended(rows=_FIXED, ddl="id bigint, f fixed[3]", partition_by=["f"]),
    ),
    Variant(
        "Unicode column names, partitioned by one",
        _appended(
            rows=ROWS.rename_columns(["Ünï", "名"]),
            ddl="`Ünï` bigint, `名` string",
            partition_by=["名"],
        ),
    ),
    Variant("files added from `k=v` folders", _added_folder),
    Variant("columns renamed, widened and added", _evolved),
    Variant("position deletes, one file per data file", _deleted()),
    Variant(
        "position deletes, one file per partition",
        _deleted(write_delete_granularity="partition"),
    ),
    Variant("position deletes in ORC", _deleted(write_delete_format_default="orc")),
    Variant("position deletes in Avro", _deleted(write_delete_format_default="avro")),
    Variant("equality deletes", _upserted()),
    Variant("equality deletes, partitioned table", _upserted(partition_by=["bucket(2, id)"])),
    Variant("equality deletes in ORC", _upserted(write_delete_format_default="orc")),
    Variant("equality deletes in Avro", _upserted(write_delete_format_default="avro")),
    Variant("equality deletes with NULL among the keys", _upserted(_NULL_KEY)),
    Variant("equality deletes with NULL, converted", _maintained(_convert)),
    Variant(
        "equality deletes with NULL, compacted",
        _maintained(_compact, _remove_dangling),
    ),
    Variant("deletion vectors (version 3)", _deleted(format__version="3")),
    Variant(
        "`uuid`, `fixed`, `decimal(30, 2)`, `timestamp_ntz`",
        _appended(
            rows=_SCALARS,
            ddl="id bigint, u uuid, f fixed[3], d decimal(30, 2), ts timestamp_ntz",
        ),
    ),
    Variant("`time`", _appended(rows=_TIMES, ddl="id bigint, t time")),
    Variant("structs, lists and maps", _appended(rows=_NESTED, ddl=_NESTED_DDL)),
    Variant("default value of a column (version 3)", _default_value),
    Variant("`variant` (version 3)", _variants()),
    Variant("`variant`, shredded (version 3)", _variants(write_parquet_shred__variants="true")),
    Variant(
        "`timestamp_ns` (version 3)",
        _appended(_V3, rows=_NANOS, ddl="id bigint, n timestamp_ns"),
    ),
    Variant("`unknown` (version 3)", _appended(_V3, rows=_UNKNOWN, ddl="id bigint, u unknown")),
    Variant("`geometry` (version 3)", _appended(_V3, rows=_GEOMETRY, ddl="id bigint, g geometry")),
)


def newest_metadata(location: str) -> str:
    """Return the local path of a table's newest metadata file."""
    return urlsplit(ice.load_table(location).metadata_location).path
