"""What a hostile store says is in no error, if it is a secret."""

import pytest

from iceberg_spark.errors import StoragePermissionError
from iceberg_spark.io.storage import open_storage
from tests.hostile.rig import Reply, Request, serving, shown

TOKEN = "x-amz-security-token"


def echo(request: Request) -> Reply:
    """Repeat the session token as S3 does."""
    token = request.headers.get(TOKEN, "")
    text = f"<Error><Code>ExpiredToken</Code><Token-0>{token}</Token-0></Error>"
    return Reply(400, text.encode(), {"Content-Type": "application/xml"})


@pytest.mark.parametrize("source", ["properties", "environment"])
def test_a_session_token_that_a_store_repeats_is_in_no_error(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"access-key-id": "key", "secret-access-key": "s", "session-token": "SESSION-TOKEN"}
    properties = {"s3.region": "r"}
    if source == "environment":
        for name, value in keys.items():
            monkeypatch.setenv(f"AWS_{name.upper().replace('-', '_')}", value)
    else:
        properties |= {f"s3.{name}": value for name, value in keys.items()}
    with serving(echo) as server:
        io = open_storage({**properties, "s3.endpoint": server.at()})
        with pytest.raises(StoragePermissionError) as caught:
            io.read_bytes("s3://bucket/x")
        assert server.requests[0].headers[TOKEN] == "SESSION-TOKEN"
    assert "SESSION-TOKEN" not in shown(caught.value)
