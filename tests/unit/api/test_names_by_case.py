"""Tables whose columns differ by case only, as Flink and PyIceberg make them: names are exact."""

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import InvalidExpressionError, InvalidInputError
from tests.unit.api.tables import new_location, rows

COLUMNS = pa.schema([("a", pa.int64()), ("A", pa.int64()), ("k", pa.string())])


@pytest.fixture
def table() -> Table:
    made = ice.create_table(new_location(), COLUMNS)
    made.append(rows(a=[1, 2], A=[10, 20], k=["x", "y"]))
    return made


def held(table: Table) -> list[tuple[int, int, str]]:
    found = table.scan().to_arrow().to_pydict()
    return sorted(zip(found["a"], found["A"], found["k"], strict=True))


def test_each_column_is_read_filtered_and_selected_by_its_own_name(table: Table):
    assert held(table) == [(1, 10, "x"), (2, 20, "y")]
    assert table.scan(row_filter="A = 10").to_arrow()["a"].to_pylist() == [1]
    assert table.scan(row_filter="a = 10").count() == 0
    assert table.scan(selected_fields=("A",)).to_arrow().to_pydict() == {"A": [10, 20]}


def test_without_case_an_exact_name_wins_and_another_is_ambiguous(table: Table):
    loose = {"case_sensitive": False}
    assert table.scan(row_filter="A = 10 and K = 'x'", **loose).count() == 1
    wide = ice.create_table(new_location(), pa.schema([("Id", pa.int64()), ("ID", pa.int64())]))
    wide.append(rows(Id=[1], ID=[2]))
    with pytest.raises(InvalidInputError, match=r"'id' is ambiguous: columns Id, ID"):
        wide.scan(row_filter="id = 1", **loose).count()


def test_each_column_is_changed_by_its_own_name(table: Table):
    table.append(rows(A=[30], a=[3], k=["z"]))
    table.overwrite(rows(a=[4], A=[40], k=["w"]), "A = 30")
    table.delete("A = 10")
    table.upsert(rows(a=[5], A=[20], k=["u"]), ["A"])
    assert held(table) == [(4, 40, "w"), (5, 20, "u")]
    with pytest.raises(InvalidExpressionError, match="b"):
        table.delete("b = 1")


def test_a_frame_matched_without_case_takes_exact_names_first(table: Table):
    table.append(rows(A=[30], a=[3], K=["z"]), case_sensitive=False)
    assert held(table)[-1] == (3, 30, "z")
