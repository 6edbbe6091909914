"""What a hostile catalog server gets, from its first answer on."""

from pathlib import Path

import pytest

from iceberg_spark.catalog import trust
from iceberg_spark.errors import UnsupportedError
from tests.hostile.rig import HostileCatalog, catalog_at, nothing, serving

OTHER = "other.example.com"
SECRET = {"credential": "id:client-secret", "gcs.oauth2.token": "users-token"}


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("overrides", "uri"),
        ("overrides", "oauth2-server-uri"),
        ("defaults", "oauth2-server-uri"),
        ("defaults", "client.refresh-credentials-endpoint"),
        ("defaults", "gcs.service.host"),
        ("table", "client.refresh-credentials-endpoint"),
        ("table", "s3.signer.uri"),
        ("table", "gcs.service.host"),
    ],
)
def test_a_catalogs_secrets_reach_no_host_that_its_server_names(part: str, name: str) -> None:
    with serving(nothing) as other, serving(nothing) as server:
        named = {name: other.at(OTHER)}
        is_table = part == "table"
        server.answer = (
            HostileCatalog(table_config=named) if is_table else HostileCatalog({part: named})
        )
        with pytest.raises(UnsupportedError, match=f"sets '{name}'.*another host"):
            catalog_at(server, **SECRET).load_table("db.t")
        assert other.requests == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rest.sigv4-enabled", "true"),
        ("rest.signing-name", "iam"),
        ("header.Host", "other"),
        ("header.Authorization", "Bearer other"),
        ("s3.proxy-uri", "http://evil.example.com"),
        ("s3.profile-name", "admin"),
        ("io.allowed-schemes", "file"),
        ("io.redirect-hosts", "*"),
        ("tasks.allow-credential", "true"),
    ],
)
@pytest.mark.parametrize("part", ["defaults", "overrides", "table"])
def test_a_server_that_sets_what_only_the_user_may_is_refused_by_name(
    part: str, name: str, value: str
) -> None:
    named = {name: value}
    hostile = (
        HostileCatalog(table_config=named) if part == "table" else HostileCatalog({part: named})
    )
    message = f"sets '{name}', and only you may set it"
    with serving(hostile) as server, pytest.raises(UnsupportedError, match=message):
        catalog_at(server, **SECRET).load_table("db.t")


def test_a_catalog_elsewhere_opens_and_deletes_no_local_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim" / "data" / "x.parquet"
    victim.parent.mkdir(parents=True)
    victim.write_bytes(b"precious")
    monkeypatch.setattr(trust, "is_this_machine", lambda _: False)
    with serving(HostileCatalog(location=str(tmp_path / "victim"))) as server:
        with pytest.raises(UnsupportedError, match=r"on another machine.*io\.allowed-schemes"):
            catalog_at(server).load_table("db.t")
        allowed = catalog_at(server, **{"io.allowed-schemes": "file"})
        assert allowed.load_table("db.t").location() == str(tmp_path / "victim")
    assert victim.read_bytes() == b"precious"
