"""Data files with texts that are not UTF-8: an error names the file, rewriting keeps the bytes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.data_file import ReadRequest, TextCheck
from iceberg_spark.spec.data_file import FileFormat
from tests.unit.formats.reading import batches

GOOD, BAD = b"good text", b"bad \xff\xfe\xffxt"
SHAPES: dict[str, tuple[str, Any]] = {
    "text": ("string", "good text"),
    "struct": ("struct<a: string>", {"a": "good text"}),
    "list": ("array<string>", ["good text"]),
    "list of structs": ("array<struct<a: string>>", [{"a": "good text"}]),
    "key": ("map<string, int>", [("good text", 1)]),
    "value": ("map<int, struct<a: string>>", [(1, {"a": "good text"})]),
    "list of lists": ("array<array<string>>", [["good text"]]),
}
PLAIN = {
    "write.parquet.compression-codec": "uncompressed",
    "write.avro.compression-codec": "uncompressed",
    "write.orc.compression-codec": "none",
}


def damaged(folder: Path, form: str, shape: str) -> ice.Table:
    """Return a table of one row good and one bad, in one file."""
    ddl, value = SHAPES[shape]
    properties = {**PLAIN, "write.format.default": form}
    table = ice.create_table(str(folder / "t"), f"id bigint, v {ddl}", properties=properties)
    kind = table.scan().to_arrow().schema.field("v").type
    table.append(pa.table({"id": pa.array([1, 2]), "v": pa.array([value, value], kind)}))
    for path in (folder / "t" / "data").iterdir():
        data = path.read_bytes()
        assert GOOD in data
        path.write_bytes(data.replace(GOOD, BAD))
    return ice.load_table(str(folder / "t"))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
def test_the_error_names_the_file(tmp_path: Path, form: str, shape: str):
    table = damaged(tmp_path, form, shape)
    with pytest.raises(CorruptFileError, match=rf"{tmp_path}/t/data/.*\.{form}\b"):
        table.scan().to_arrow()


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_other_columns_are_read(tmp_path: Path, form: str):
    table = damaged(tmp_path, form, "list of structs")
    assert table.scan(selected_fields=("id",)).to_arrow().column("id").to_pylist() == [1, 2]


@pytest.mark.parametrize("form", ["parquet", "orc"])
def test_a_delete_keeps_the_bytes_of_the_rows_that_stay(tmp_path: Path, form: str):
    table = damaged(tmp_path, form, "list of structs")
    table.delete("id = 1")
    (file,) = table.scan().plan_files()
    found = batches(Path(file.file_path), FileFormat[form.upper()], ["v"], checks_texts=False)
    (kept,) = (batch.rows.column(0) for batch in found)
    assert kept.flatten().field(0).view(pa.binary()).to_pylist() == [BAD]


def test_columns_without_texts_are_not_looked_at():
    inner = pa.struct([("n", pa.int64()), ("t", pa.string())])
    columns = {"a": pa.int64(), "b": pa.list_(pa.binary()), "c": pa.list_(inner)}
    fields = file_fields(pa.schema(columns))
    every = ReadRequest(fields, frozenset(leaf for field in fields for leaf in field.leaves))
    assert TextCheck.of("f", every, fields).columns == ((2, "c"),)
    assert TextCheck.of("f", replace(every, checks_texts=False), fields).columns == ()
