"""How what users hold looks in a terminal and in a notebook."""

import re

import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import IcebergError
from tests.unit.api.tables import make, rows


@pytest.fixture
def table() -> Table:
    made = make(schema="id bigint not null comment 'the key', k string", partition_by=["k"])
    made.append(rows(id=[1, 2], k=["a", "b"]))
    made.append(rows(id=[3], k=["a"]))
    return made


def test_schema_spec_and_order_have_a_line_a_field(table: Table):
    assert repr(table.schema()).splitlines() == [
        "Schema 0",
        "  1: id: required long (the key)",
        "  2: k: optional string",
    ]
    assert repr(table.spec()).splitlines() == ["PartitionSpec 0", "  1000: k: identity(2)"]
    assert repr(table.sort_order()) == "SortOrder 0, unsorted"
    table.update_schema().set_identifier_fields("id").commit()
    assert "identifier fields: id" in repr(table.schema())


def test_snapshots_refs_and_history_are_tables_and_still_lists(table: Table):
    head = table.current_snapshot()
    assert head is not None
    table.manage_snapshots().create_tag(head.snapshot_id, "<b>x</b>\x1b[2J").commit()
    shown = repr(table.snapshots()).splitlines()
    assert len(shown) == 3
    assert re.fullmatch(
        r"snapshot +committed \(UTC\) +operation +parent +added +rows in total", shown[0]
    )
    assert re.fullmatch(rf"{head.snapshot_id} .* append +\d+ +1 +3", shown[2])
    assert {line.index("append") for line in shown[1:]} == {shown[0].index("operation")}
    assert "<b>x</b>\\x1b[2J  tag" in repr(table.refs())
    assert "&lt;b&gt;x" in table.refs()._repr_html_()
    assert repr(table.history()).count("\n") == 2
    assert table.snapshots() == list(table.metadata.snapshots.values())
    assert table.refs() == table.metadata.refs
    assert isinstance(table.history(), list)
    assert repr(make().snapshots()) == "no snapshots yet"
    for listing in (table.snapshots(), table.history()):
        assert listing._repr_html_().count("<tr>") == 3


def test_builders_and_transactions_say_what_they_hold(table: Table):
    tx = table.transaction()
    assert "no change yet" in repr(tx)
    tx.append(rows(id=[4], k=["a"]))
    assert repr(tx).splitlines()[1:] == ["  AppendFiles"]
    added = table.update_schema().add_column("x", "int")
    assert repr(added).splitlines()[-1] == "  3: x: optional int"
    assert "not committed" in repr(added)
    assert "id_bucket_4" in repr(table.update_spec().add_field("bucket(4, id)"))
    assert "identity(1) asc" in repr(table.update_sort_order().asc("id"))
    assert "  set a = 1" in repr(table.update_properties().set({"a": 1}))
    assert "CreateRef" in repr(table.manage_snapshots().create_tag(None, "x"))
    merge = table.merge(rows(id=[1]), "t.id = s.id").when_matched_update({"k": "s.k"}, "s.id > 0")
    assert repr(merge).splitlines() == [
        "Merge of a Table on t.id = s.id, not executed:",
        "  when matched update if s.id > 0: k = s.k",
    ]


def test_control_characters_are_shown_as_escapes():
    table = ice.create_table("memory://reprs/\x1b[31m", "`a\x1b]0;x\x07` bigint, b bigint")
    table.append(rows(b=[1]))
    scan = table.scan("b = 1")
    shown = [repr(table), repr(table.schema()), repr(scan), scan.explain()]
    with pytest.raises(IcebergError) as caught:
        table.scan("nix = 1").to_arrow()
    shown.append(str(caught.value))
    assert [text for text in shown if not text.replace("\n", "").isprintable()] == []
