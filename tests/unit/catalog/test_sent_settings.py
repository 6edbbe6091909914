"""Settings of a session's catalog that travel as one option."""

from pathlib import Path

import pytest

from iceberg_spark.io.secrets import shown_by_spark
from iceberg_spark.spark.session.send_catalog import (
    SENT_SETTINGS,
    sent_settings,
    with_sent_settings,
)

LAKE = {"type": "hadoop", "warehouse": "/lake", "token": "t, {ü}"}


def storage(name: str = SENT_SETTINGS) -> dict[str, str]:
    return {name: sent_settings("lake", LAKE), "s3.region": "x"}


@pytest.mark.parametrize("name", [SENT_SETTINGS, SENT_SETTINGS.upper()])
def test_a_table_of_the_catalog_gets_what_was_sent(name: str) -> None:
    expected = {**LAKE, "s3.region": "x"}
    assert with_sent_settings("lake.db.t#changes", storage(name)) == expected


@pytest.mark.parametrize("path", ["other.db.t", "/lake/db/t", "s3://lake/db.t", "lake"])
def test_other_tables_get_none_of_it(path: str) -> None:
    assert with_sent_settings(path, storage()) == {"s3.region": "x"}


def test_options_of_the_load_come_first() -> None:
    found = with_sent_settings("lake.db.t", {**storage(), "warehouse": "/mine"})
    assert found["warehouse"] == "/mine"


def test_what_is_configured_here_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", str(tmp_path))
    assert with_sent_settings("lake.db.t", storage()) == {"s3.region": "x"}


def test_spark_hides_the_option_by_default() -> None:
    assert shown_by_spark(storage()) == ()
