"""No secret gets into a table's metadata, nor is one shown of a table that is there."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import IcebergError, InvalidInputError, InvalidOptionError
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.unit.api.tables import make, new_location

WHERE_CREDENTIALS_GO = r"storage properties.*\.pyiceberg\.yaml"
PLACES = (
    "s3://user:hush@bucket/t",
    "memory://user:hush@bucket/t",
    "abfs://c@account.dfs.core.windows.net/t?sig=hush",
)


def calls(place: str) -> dict[str, Any]:
    warehouse = ice.load_catalog("mine", type="filesystem", warehouse=place)
    return {
        "a location": lambda: ice.create_table(place, "id bigint"),
        "a warehouse": lambda: warehouse.create_table("db.t", "id bigint"),
        "a property": lambda: make(**{"write.data.path": place}),
        "a changed property": lambda: (
            make().update_properties().set({"write.data.path": place}).commit()
        ),
    }


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what", calls("/"))
def test_a_place_with_a_secret_is_not_stored(place: str, what: str) -> None:
    with pytest.raises(InvalidInputError, match=WHERE_CREDENTIALS_GO) as caught:
        calls(place)[what]()
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["s3.secret-access-key", "ADLS.account-key", "client.session-token"]
)
def test_credentials_are_no_table_properties(name: str) -> None:
    with pytest.raises(InvalidOptionError, match=rf"'{name}'.*{WHERE_CREDENTIALS_GO}") as caught:
        ice.create_table(new_location(), "id bigint", properties={name: "hush"})
    assert "hush" not in str(caught.value)


def test_what_only_sounds_like_a_secret_is_a_table_property() -> None:
    kept = {"write.parquet.bloom-filter-enabled.column.id": "true", "my.key.count": "5"}
    assert ice.create_table(new_location(), "id bigint", properties=kept).properties == kept


def test_a_table_reached_by_a_url_with_a_secret_is_read_without_showing_it(
    tmp_path: Path,
) -> None:
    """Another engine's table may lie there: it is read, and nothing is committed through it."""
    place = "memory://user:hush@bucket/read"
    made = ice.create_table(tmp_path, "id bigint")
    text = Path(made.metadata_location).read_text(encoding="utf-8")
    metadata = json.loads(text) | {"location": place}
    FsspecIO().replace(f"{place}/metadata/v1.metadata.json", json.dumps(metadata).encode())
    table = ice.load_table(place)
    shown = [
        repr(table), table._repr_html_(), table.scan().explain(), repr(table.scan()),
        repr(table.transaction()), repr(table.inspect), repr(table.history()),
    ]  # fmt: skip
    assert not [each for each in shown if "hush" in each]
    assert "memory://***@bucket/read" in shown[0]
    with pytest.raises(IcebergError, match=WHERE_CREDENTIALS_GO):
        table.append(pa.table({"id": [1]}))
