"""Which columns of its source a merge with schema evolution gives the table."""

import pytest

from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql.evolving_columns import Assigned, evolving_columns
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IntegerType, NestedField, StringType, StructType

INNER = StructType(
    NestedField(4, "x", IntegerType(), required=False),
    NestedField(5, "y", IntegerType(), required=False),
)
SOURCE = Schema(
    NestedField(1, "id", IntegerType(), required=False),
    NestedField(2, "Name", StringType(), required=False),
    NestedField(3, "p", INNER, required=False),
)


@pytest.mark.parametrize(
    ("columns", "taken"),
    [
        ({}, []),
        ({"id": "s.id"}, ["id"]),
        ({"t.id": "s.id"}, ["id"]),
        ({"t.id": "c.d.src.id"}, ["id"]),
        ({"id": "id", "p": "s.p"}, ["id", "p", "p.x", "p.y"]),
        ({"name": "s.NAME"}, ["Name"]),
        ({"p.x": "s.p.x"}, ["p", "p.x"]),
        ({"p.x": "s.p.y"}, []),
        ({"id": "s.id + 0", "p": "s.id", "Name": "'s.Name'"}, []),
        ({"id": "t.id"}, []),
        ({"other": "s.id"}, []),
    ],
)
def test_a_column_that_is_assigned_from_its_namesake_is_added(
    columns: dict[str, str], taken: list[str]
) -> None:
    given = [(tuple(path.split(".")), text) for path, text in columns.items()]
    assigned = Assigned(False, given, target=[("t",)], source=[("s",), ("c", "d", "src")])
    found = evolving_columns(SOURCE, assigned, SPARK, case_sensitive=False)
    assert list(found.column_names) == taken


def test_a_star_takes_every_column_and_case_may_count() -> None:
    every = Assigned(True, [], target=[], source=[])
    assert evolving_columns(SOURCE, every, SPARK, case_sensitive=False) is SOURCE
    other = Assigned(False, [(("name",), "s.name")], target=[], source=[("s",)])
    assert evolving_columns(SOURCE, other, SPARK, case_sensitive=True).fields == ()
