"""Properties are shown as Spark shows them: without what may be a secret."""

from typing import Any

import pytest

from iceberg_spark.spark.session.redaction import without_secrets

HIDDEN = "*********(redacted)"


class Session:
    """A session of some settings, for what asks it by `conf.get`."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings
        self.conf = self

    def get(self, name: str, otherwise: str) -> str:
        return self.settings.get(name, otherwise)


def shown(properties: dict[str, str], **settings: str) -> dict[str, str]:
    made: Any = Session({f"spark.{name.replace('_', '.')}": one for name, one in settings.items()})
    return without_secrets(made, properties)


@pytest.mark.parametrize("name", ["my.token", "a-PASSWORD", "access.key", "accesskey", "jdbc.Url"])
def test_what_is_called_like_a_secret_is_hidden(name: str) -> None:
    assert shown({name: "x", "b": "y"}) == {name: HIDDEN, "b": "y"}


def test_what_holds_a_word_of_secrets_is_hidden() -> None:
    assert shown({"a": "the password is x", "b": "curl", "c": "x"}) == {
        "a": HIDDEN,
        "b": HIDDEN,
        "c": "x",
    }


def test_the_session_says_what_is_hidden() -> None:
    given = {"my.token": "x", "url": "y", "plain": "z"}
    assert shown(given, redaction_regex="plain") == {**given, "url": HIDDEN, "plain": HIDDEN}
    assert shown(given, redaction_regex="", sql_redaction_options_regex="") == given


def test_an_expression_that_only_java_knows_hides_everything() -> None:
    assert shown({"a": "x", "b": ""}, redaction_regex="(?<name>a)") == {"a": HIDDEN, "b": HIDDEN}
