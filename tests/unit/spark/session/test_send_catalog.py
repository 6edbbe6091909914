"""Which settings of a session's catalog go to its streams, and when they would be shown."""

from typing import Any

import pytest

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spark.session import send_catalog
from iceberg_spark.spark.session.send_catalog import SENT_SETTINGS, catalog_to_send


class Session:
    """A session of some settings, for what asks it by `conf.get`."""

    def __init__(self, **settings: str) -> None:
        self.settings = settings
        self.conf = self

    def get(self, name: str, otherwise: str) -> str:
        return self.settings.get(name.rpartition(".")[2], otherwise)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    """Catalogs by name, as sessions have them."""
    catalogs: dict[str, dict[str, str]] = {"lake": {"warehouse": "/lake"}}
    monkeypatch.setattr(send_catalog, "is_connect", lambda _: False)
    monkeypatch.setattr(send_catalog, "session_catalog", lambda _, name: catalogs.get(name, {}))
    return catalogs


def sent(table: str, **settings: str) -> Any:
    return catalog_to_send(Session(**settings), table)  # type: ignore[arg-type]


@pytest.mark.usefixtures("known")
def test_settings_go_with_tables_of_the_sessions_catalogs_only() -> None:
    assert "/lake" in sent("lake.db.t")[SENT_SETTINGS]
    assert [sent(table) for table in ("sea.db.t", "/tmp/t", "s3://lake/db.t", "local.db.t")] == [
        {}
    ] * 4


@pytest.mark.parametrize("regex", ["(?i)password", "", "(?<name", "^token$"])
def test_a_secret_that_the_session_would_show_is_refused(
    known: dict[str, dict[str, str]], regex: str
) -> None:
    assert sent("lake.db.t", regex=regex)
    known["lake"]["credential"] = "id:hush"
    with pytest.raises(InvalidOptionError, match=r"lake\.credential .*redaction") as refused:
        sent("lake.db.t", regex=regex)
    assert "hush" not in str(refused.value)
    assert sent("lake.db.t")


def test_a_secret_is_refused_over_connect_whatever_spark_hides(
    known: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_catalog, "is_connect", lambda _: True)
    assert sent("lake.db.t")
    known["lake"]["token"] = "hush"
    with pytest.raises(InvalidOptionError, match=r"lake\.token .*Connect") as refused:
        sent("lake.db.t")
    assert "hush" not in str(refused.value)
