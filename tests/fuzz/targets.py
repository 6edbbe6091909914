"""What is fuzzed: whole tables with one file changed, and texts; every decoder is behind them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.catalog.versions import newest_version
from iceberg_spark.errors import IcebergError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.may_match import may_match
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.inspect.request import inspection, parts, read_parts
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.reader import MANIFEST_CACHE
from iceberg_spark.read.task_reader import read_task
from iceberg_spark.scan.planner import plan
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spec import name_mapping
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.metadata_json import metadata_from_json, metadata_to_json
from iceberg_spark.spec.rest_json import requirement_from_json, update_from_json
from iceberg_spark.spec.transform_text import parse_transform
from iceberg_spark.spec.types import parse_type
from iceberg_spark.write.describe_imported import imported_data_file
from tests.builders import EVENTS

CORPUS = Path(__file__).parent / "corpus"


class CorpusIO(FsspecIO):
    """Storage where every path leads to the file of its name in one folder."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Path) -> None:
        super().__init__({})
        self._folder = folder

    def _at(self, path: str) -> str:
        return str(self._folder / (location.name(path) or "none"))

    def open(self, path: str) -> Any:
        return super().open(self._at(path))

    def read_bytes(self, path: str) -> bytes:
        return super().read_bytes(self._at(path))

    def exists(self, path: str) -> bool:
        return super().exists(self._at(path))

    def find(self, paths: Sequence[str]) -> dict[str, FileInfo]:
        there = super().find([self._at(path) for path in paths])
        return {path: there[self._at(path)] for path in paths if self._at(path) in there}

    def size(self, path: str) -> int:
        return super().size(self._at(path))

    def arrow(self, path: str) -> Any:
        return super().arrow(self._at(path))


@dataclass(frozen=True, slots=True)
class Input:
    """One file of the corpus, to be changed; `run` is given the folder that holds it."""

    name: str
    data: bytes
    others: Mapping[str, bytes]
    run: Callable[[Path, str], None]


def read_table(folder: Path, _name: str) -> None:
    """Load, plan, read and inspect a table, write its metadata again."""
    MANIFEST_CACHE.clear()
    io = CorpusIO(folder)
    found = newest_version(io, "/t")
    if found is None:  # none but where the hint was changed
        return
    metadata = read_metadata(io, found.metadata_location)
    metadata_from_json(metadata_to_json(metadata))
    filtered = ScanRequest(row_filter="id > 1") if "id" in metadata.schema.column_names else None
    context = scan_context(metadata, filtered or ScanRequest())
    planned = plan(metadata, io, context)
    for task in planned:
        for batch in read_task(context, io, task, BoundedCache(10**8)):
            batch.validate(full=True)
    loaded = LoadedTable("/t", metadata, found.metadata_location, io)
    for name in MetadataTable:
        request = inspection(metadata, name, ScanRequest())
        for table in read_parts(request, loaded, io, parts(request, metadata, io)):
            table.validate(full=True)


def read_file(folder: Path, name: str) -> None:
    """Read all columns of a data file, and take it into a table."""
    path = str(folder / name)
    form = FileFormat[Path(name).suffix[1:].upper()]
    with open_data_file(FsspecIO(), path, form) as reader:
        fields = file_fields(reader.schema)
        leaves = frozenset(leaf for field in fields for leaf in field.leaves)
        for batch in reader.batches(ReadRequest(fields, leaves)):
            batch.rows.validate(full=True)
    _import(path)


def _import(path: str) -> None:
    metadata = metadata_from_json((CORPUS / "imported.json").read_bytes())
    imported_data_file(FsspecIO(), path, metadata, metadata.spec)


def _text(read: Callable[[str], object]) -> Callable[[Path, str], None]:
    def run(folder: Path, name: str) -> None:
        text = (folder / name).read_bytes().decode("utf-8", "surrogateescape")
        try:
            read(text)
        except IcebergError as error:  # texts have no name: they are the message's matter
            raise type(error)(f"{name}: {error}") from error

    return run


def _predicate(text: str) -> None:
    may_match(bind(EVENTS, parse_predicate(text), time_zone="Europe/Berlin"))


def _json(read: Callable[[Any], object]) -> Callable[[str], None]:
    def run(text: str) -> None:
        try:
            node = json.loads(text)
        except (ValueError, RecursionError):
            return  # a client of REST has parsed JSON
        read(node)

    return run


_TEXTS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "type": (parse_type, ("decimal(9, 2)", "fixed[16]", "geography(OGC:CRS84, karney)", "long")),
    "transform": (parse_transform, ("bucket[16]", "truncate[4]", "day", "identity", "zorder")),
    "predicate": (
        _predicate,
        (
            "id > 5 and (s like 'a%' or d in (1.5, 2)) and ts >= '2024-01-01T00:00:00'",
            "not (id between 1 and 9) or s is null or ts < timestamp'2024-03-31 02:30:00'",
            "cast('2024-01-01' as date) < ts and -id = 1e3 or d <=> 0x1F",
        ),
    ),
    "mapping": (
        name_mapping.parse,
        ('[{"field-id":1,"names":["a","b"],"fields":[{"field-id":2,"names":["c"]}]}]',),
    ),
    "update": (
        _json(update_from_json),
        (
            '{"action":"set-properties","updates":{"a":"b"}}',
            (
                '{"action":"add-schema","schema":{"type":"struct","schema-id":1,"fields":'
                '[{"id":1,"name":"a","required":true,"type":"long"}]},"last-column-id":1}'
            ),
            (
                '{"action":"add-spec","spec":{"spec-id":1,"fields":[{"name":"p","transform":'
                '"bucket[4]","source-id":1,"field-id":1000}]}}'
            ),
            '{"action":"set-snapshot-ref","ref-name":"b","type":"branch","snapshot-id":1}',
        ),
    ),
    "requirement": (
        _json(requirement_from_json),
        ('{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":1}',),
    ),
}


def inputs() -> list[Input]:
    """Return every input, in a fixed order."""
    found = []
    for table in sorted((CORPUS / "tables").iterdir()):
        files = {one.name: one.read_bytes() for one in sorted(table.iterdir())}
        found += [Input(name, data, files, read_table) for name, data in files.items()]
    for one in sorted((CORPUS / "files").iterdir()):
        found.append(Input(one.name, one.read_bytes(), {}, read_file))
    for kind, (read, texts) in _TEXTS.items():
        found += [
            Input(f"{kind}-{at}.txt", text.encode(), {}, _text(read))
            for at, text in enumerate(texts)
        ]
    return found
