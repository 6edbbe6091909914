"""How results are printed: in a pipe, on a terminal, and as JSON of every type."""

import io
import json
from contextlib import redirect_stdout
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.cli.output import OutputFormat, print_record, print_rows
from iceberg_spark.cli.row_file import json_values


class Terminal(io.StringIO):
    """A text stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch, function, *arguments) -> str:
    """What a function prints on a terminal of 60 columns."""
    monkeypatch.setenv("COLUMNS", "60")
    with redirect_stdout(Terminal()) as stream:
        function(*arguments, OutputFormat.TEXT)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1.5, float("nan"), float("inf"), -float("inf"), None], pa.float64(),
         [1.5, "NaN", "Infinity", "-Infinity", None]),
        ([Decimal("1.50"), Decimal("1E+3")], pa.decimal128(9, 2), ["1.50", "1000.00"]),
        ([b"\x00\xff"], pa.binary(), ["00ff"]),
        ([b"\x00\xff"], pa.binary(2), ["00ff"]),
        ([date(2026, 1, 31)], pa.date32(), ["2026-01-31"]),
        ([3_000_000_000_000_000_000], pa.timestamp("us"), ["+97036-03-20T05:20:00.000000"]),
        ([1], pa.timestamp("ns", "UTC"), ["1970-01-01T00:00:00.000000001+00:00"]),
        ([1_000_000], pa.time64("us"), ["00:00:01.000000"]),
        ([[1.0, float("nan")], None, []], pa.list_(pa.float64()), [[1.0, "NaN"], None, []]),
        ([[("k", b"\x01")], None, []], pa.map_(pa.string(), pa.binary()),
         [[{"key": "k", "value": "01"}], None, []]),
        ([{"a": Decimal(1)}, None], pa.struct([("a", pa.decimal128(3, 0))]), [{"a": "1"}, None]),
        ([None], pa.list_(pa.int64()), [None]),
        ([{}], pa.struct([]), [{}]),
    ],
)  # fmt: skip
def test_value_of_each_type_is_valid_json(values, kind, expected):
    column = pa.array(values, kind)
    assert json_values(column) == expected
    assert json_values(pa.concat_arrays([column, column]).slice(1, len(column))) == (
        expected[1:] + expected[:1]
    )
    json.dumps(json_values(column), allow_nan=False)


def test_uuid_is_text():
    stored = pa.array([bytes(range(16))], pa.binary(16))
    column = pa.ExtensionArray.from_storage(pa.uuid(), stored)
    assert json_values(column) == ["00010203-0405-0607-0809-0a0b0c0d0e0f"]


def test_markup_in_names_and_values_stays_text_on_a_terminal(monkeypatch):
    rows = [("[bold]x[/bold]",), ("[/]",)]
    shown = on_terminal(monkeypatch, print_rows, ["[red]name[/red]"], rows)
    assert "[red]name[/red]" in shown and "[bold]x[/bold]" in shown and "[/]" in shown


def test_control_characters_do_not_reach_the_terminal(monkeypatch):
    shown = on_terminal(monkeypatch, print_rows, ["n"], [("\x1b[2Jx\ny",)])
    shown += on_terminal(monkeypatch, print_record, {"\x1b]0;title\x07": "\x1b[31m"})
    assert "\\x1b[2Jx\\ny" in shown
    assert "\x1b[2J" not in shown and "\x1b]" not in shown


def test_long_value_is_folded_not_cut(monkeypatch):
    shown = on_terminal(monkeypatch, print_rows, ["n"], [("x" * 200,)])
    assert shown.count("x") == 200


def test_cell_in_a_pipe_has_no_tab_and_no_line_end(capsys):
    print_rows(["n", "m"], [("a\tb\nc", None)], OutputFormat.TEXT)
    assert capsys.readouterr().out == "n\tm\na\\tb\\nc\tNULL\n"


def test_json_of_no_rows_is_an_empty_array(capsys):
    print_rows(["n"], [], OutputFormat.JSON)
    assert json.loads(capsys.readouterr().out) == []


def test_scan_as_json_has_nested_and_special_values(cli, tmp_path):
    place = tmp_path / "t"
    table = ice.create_table(place, "x double, b binary, s struct<l: array<decimal(9, 2)>>")
    rows = [
        {"x": float("nan"), "b": b"\xff", "s": {"l": [Decimal("1.10")]}},
        {"x": None, "b": None, "s": None},
    ]
    table.append(pa.Table.from_pylist(rows, table.scan().to_arrow().schema))
    assert cli("scan", place, "--output", "json").json == [
        {"x": "NaN", "b": "ff", "s": {"l": ["1.10"]}},
        {"x": None, "b": None, "s": None},
    ]
