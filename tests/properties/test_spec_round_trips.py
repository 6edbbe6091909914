"""What is written is read back as it was."""

import json
import math
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from iceberg_spark.spec.calendar_text import civil, date_text, days_of, parse_date
from iceberg_spark.spec.fresh_ids import assign_fresh_ids
from iceberg_spark.spec.json_values import value_from_json, value_to_json
from iceberg_spark.spec.metadata_json import metadata_from_json, metadata_to_json
from iceberg_spark.spec.name_mapping import from_schema, parse, to_json
from iceberg_spark.spec.new_table import new_metadata
from iceberg_spark.spec.schema_json import schema_from_dict, schema_to_dict
from iceberg_spark.spec.types import FloatType, parse_type
from iceberg_spark.spec.values import from_bytes, to_bytes
from tests.properties.spec_strategies import TEXTS, primitives, schemas, typed_values


@given(typed_values())
def test_binary_values(typed):
    kind, value = typed
    again = from_bytes(kind, to_bytes(kind, value))
    assert again == value
    assert type(again) is type(value)


@given(typed_values())
def test_decimals_take_the_fewest_bytes(typed):
    kind, value = typed
    data = to_bytes(kind, value)
    if kind.__class__.__name__ == "DecimalType" and len(data) > 1:
        number = int.from_bytes(data, "big", signed=True)
        bits = 8 * (len(data) - 1) - 1
        assert not -(1 << bits) <= number < 1 << bits


@given(typed_values())
def test_json_values(typed):
    kind, value = typed
    node = json.loads(json.dumps(value_to_json(kind, value)))
    again = value_from_json(kind, node)
    if isinstance(kind, FloatType):
        assert math.isclose(again, value)
    else:
        assert again == value


@given(primitives())
def test_type_names(kind):
    assert parse_type(str(kind)) == kind
    assert parse_type(str(kind).replace(" ", "")) == kind


@given(schemas())
def test_schemas(found):
    assert schema_from_dict(json.loads(json.dumps(schema_to_dict(found)))) == found


@given(schemas())
def test_name_mappings(found):
    mapping = from_schema(found)
    assert parse(to_json(mapping)) == mapping
    assert set(mapping.names_by_id()) == set(found.field_ids)


@given(schemas())
def test_fresh_ids_count_up_and_keep_names_and_types(found):
    fresh = assign_fresh_ids(found)
    assert sorted(fresh.field_ids) == list(range(1, len(found.field_ids) + 1))
    assert fresh.column_names == found.column_names
    assert assign_fresh_ids(fresh) == fresh


@given(
    schemas(), st.dictionaries(TEXTS, TEXTS).map(lambda node: {f"x{k}": v for k, v in node.items()})
)
def test_table_metadata(found, properties):
    made = new_metadata(
        found, location="file:/t", properties=properties, format_version=3, now_ms=5
    )
    again = metadata_from_json(metadata_to_json(made))
    assert again == made
    assert metadata_to_json(again) == metadata_to_json(made)


@given(st.integers(date.min.toordinal(), date.max.toordinal()))
def test_dates_are_pythons(ordinal):
    day = date.fromordinal(ordinal)
    days = (day - date(1970, 1, 1)) // timedelta(days=1)
    assert civil(days) == (day.year, day.month, day.day)
    assert date_text(days) == day.isoformat()


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_dates_beyond_python(days):
    assert days_of(*civil(days)) == days
    assert parse_date(date_text(days)) == days
