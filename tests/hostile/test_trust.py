"""What a catalog's server may decide (`docs/security.md`): a row of the model, a test."""

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark
from iceberg_spark.catalog.config import configured_catalog
from iceberg_spark.catalog.registry import load_catalog
from iceberg_spark.catalog.trust import Ruling, Trust, is_this_machine, ruling_of
from iceberg_spark.errors import IcebergError, InvalidInputError, UnsupportedError
from iceberg_spark.io.allowed_places import check_account_host
from iceberg_spark.io.fsspec_io import FsspecIO, _locked
from iceberg_spark.io.storage import open_storage

SOURCE = Path(iceberg_spark.__file__).parent
CATALOG = "https://catalog.example.com/api"
USER = {"uri": CATALOG, "credential": "id:secret", "gcs.oauth2.token": "users"}
TRUST = Trust("c", USER)

USER_ONLY = {
    "rest.sigv4-enabled": "true",
    "rest.signing-name": "iam",
    "rest.signing-region": "us-east-1",
    "rest.auth.type": "basic",
    "header.Host": "other",
    "header.Authorization": "Bearer x",
    "header.X-Amz-Security-Token": "x",
    "s3.proxy-uri": "http://evil.example.com",
    "s3.profile-name": "admin",
    "s3.role-arn": "arn:aws:iam::1:role/x",
    "io.allowed-schemes": "file",
    "io.lock-path": "/etc",
    "ssl.cabundle": "/tmp/evil.pem",
    "credential": "other",
    "tasks.allow-credential": "true",
    "view.allow-code": "true",
}


@pytest.mark.parametrize("name", USER_ONLY)
def test_only_the_user_may_set_it(name: str) -> None:
    value = USER_ONLY[name]
    message = f"The server sets '{re.escape(name)}'.*load_catalog"
    with pytest.raises(UnsupportedError, match=message):
        TRUST.accepted({name: value}, "The server")
    by_user = Trust("c", {**USER, name: value})
    assert by_user.accepted({name: value}, "The server") == {name: value}


ADDRESSES = ["uri", "oauth2-server-uri", "client.refresh-credentials-endpoint", "s3.signer.uri"]


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example.com/api",
        "http://catalog.example.com/api",  # TLS is lost
        "https://catalog.example.com.evil.com/",
        "https://catalog.example.com@evil.com/",
        "https://evil.com/?catalog.example.com",
        "//evil.com/x",
    ],
)
def test_secrets_go_to_no_host_that_a_server_names(name: str, address: str) -> None:
    with pytest.raises(UnsupportedError, match=f"'{name}'.*another host"):
        TRUST.accepted({name: address}, "The server")


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize(
    "address",
    ["https://catalog.example.com/other", "https://CATALOG.example.com:8443/", "v1/credentials"],
)
def test_a_server_may_name_its_own_host(name: str, address: str) -> None:
    assert TRUST.accepted({name: address}, "The server") == {name: address}


def test_a_caller_without_secrets_follows_to_another_host() -> None:
    """A server behind a proxy may know itself by another name, and there is nothing to lose."""
    named = {"uri": "http://external.example.com/catalog"}
    assert Trust("c", {"uri": "http://internal:8181/catalog"}).accepted(named, "The server")
    signing = Trust("c", {"uri": "https://internal/catalog", "rest.sigv4-enabled": "true"})
    with pytest.raises(UnsupportedError):
        signing.accepted(named, "The server")


def test_a_host_that_the_user_named_is_the_users_choice() -> None:
    trust = Trust("c", {**USER, "oauth2-server-uri": "https://login.example.org/token"})
    named = {"oauth2-server-uri": "https://login.example.org/other"}
    assert trust.accepted(named, "The server") == named


STORES = {
    "gcs.service.host": "https://evil.example.com",
    "adls.account-host": "account.evil.example.com",
    "adls.connection-string": "BlobEndpoint=https://evil.example.com",
}


@pytest.mark.parametrize("name", ["gcs.service.host", "adls.account-host"])
def test_a_store_that_a_server_names_gets_the_servers_own_secrets_only(name: str) -> None:
    address = {name: STORES[name]}
    with pytest.raises(UnsupportedError, match=f"'{name}'"):
        TRUST.check_stores(address, "The server")
    own = {"gcs.oauth2.token": "servers", "adls.sas-token.account": "servers"}
    TRUST.check_stores({**address, **own}, "The server")
    Trust("c", {**USER, **address}).check_stores(address, "The server")


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("gcs.service.host", "https://storage.googleapis.com"),
        ("adls.account-host", "account.dfs.core.windows.net"),
    ],
)
def test_a_providers_own_domain_is_no_other_host(name: str, address: str) -> None:
    TRUST.check_stores({name: address}, "The server")


def test_a_server_chooses_the_endpoint_of_s3_but_not_a_providers_without_tls() -> None:
    for endpoint in ("https://s3.example.com", "http://minio:9000"):
        assert TRUST.accepted({"s3.endpoint": endpoint}, "The server")
    with pytest.raises(UnsupportedError, match="without TLS"):
        TRUST.accepted({"s3.endpoint": "http://s3.us-east-1.amazonaws.com"}, "The server")


@pytest.mark.parametrize("place", ["/etc/x", "file:/etc/x", "file://localhost/etc/x", "local:/x"])
def test_a_catalog_on_another_machine_names_no_local_path(place: str) -> None:
    with pytest.raises(UnsupportedError, match=r"io\.allowed-schemes"):
        TRUST.check_local(place)
    Trust("c", {**USER, "io.allowed-schemes": "file"}).check_local(place)
    Trust("c", {"uri": "http://127.0.0.1:8181"}).check_local(place)
    TRUST.check_local("s3://b/t")


@pytest.mark.parametrize(
    ("uri", "is_this"),
    [
        ("http://localhost:1", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:80", True),
        ("sqlite:////x.db", True),
        ("jdbc:postgresql://db.example.com/x", False),
        ("postgresql+psycopg://localhost/x", True),
        ("thrift://127.0.0.1:9083,thrift://other:9083", False),
        ("http://127.0.0.1.evil.com", False),
        ("http://10.0.0.1", False),
        ("http://localhost.evil.com", False),
    ],
)
def test_which_addresses_are_this_machine(uri: str, is_this: bool) -> None:
    assert is_this_machine(uri) is is_this


SERVERS: Mapping[str, Mapping[str, Any]] = {
    # what answers of these servers are known to hold, by documentation and public threads
    "Polaris": {
        "uri": "https://polaris.example.com/api/catalog",
        "config": {
            "prefix": "warehouse",
            "default-base-location": "s3://b/w",
        },
        "table": {
            "s3.access-key-id": "k",
            "s3.secret-access-key": "s",
            "s3.session-token": "t",
            "s3.session-token-expires-at-ms": "1",
            "client.region": "us-west-2",
            "client.refresh-credentials-endpoint": "v1/w/namespaces/n/tables/t/credentials",
            "expiration-time": "1",
        },
    },
    "Polaris on Google": {
        "uri": "https://polaris.example.com/api/catalog",
        "config": {
            "prefix": "warehouse",
        },
        "table": {
            "gcs.oauth2.token": "t",
            "gcs.oauth2.token-expires-at": "1",
        },
    },
    "Polaris on Azure": {
        "uri": "https://polaris.example.com/api/catalog",
        "config": {
            "prefix": "warehouse",
        },
        "table": {
            "adls.sas-token.account.dfs.core.windows.net": "t",
            "adls.sas-token-expires-at-ms.account": "1",
        },
    },
    "Lakekeeper": {
        "uri": "https://lakekeeper.example.com/catalog",
        "config": {
            "prefix": "0190",
            "uri": "https://lakekeeper.example.com/catalog/",
        },
        "table": {
            "s3.region": "local",
            "s3.endpoint": "http://minio:9000",
            "s3.path-style-access": "true",
            "s3.remote-signing-enabled": "true",
            "s3.signer.uri": "https://lakekeeper.example.com/catalog/",
            "s3.signer.endpoint": "v1/signer/x",
            "client.region": "local",
        },
    },
    "Nessie": {
        "uri": "http://127.0.0.1:19120/iceberg",
        "config": {
            "prefix": "main%7Cw",
            "uri": "http://127.0.0.1:19120/iceberg/",
            "warehouse": "s3://b/w",
            "nessie.is-nessie-catalog": "true",
            "nessie.default-branch.name": "main",
            "nessie.core-base-uri": "http://127.0.0.1:19120/api/",
            "rest-page-size": "200",
            "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.region": "us-east-1",
            "s3.path-style-access": "true",
            "header.X-Iceberg-Access-Delegation": "vended-credentials",
        },
        "table": {
            "s3.signer.uri": "http://127.0.0.1:19120/iceberg/",
            "s3.signer.endpoint": "v1/main/s3sign/x",
            "token": "tables",
        },
    },
    "Unity Catalog": {
        "uri": "https://unity.example.com/api/2.1/unity-catalog/iceberg-rest",
        "config": {
            "prefix": "catalogs/unity",
        },
        "table": {
            "s3.access-key-id": "k",
            "s3.secret-access-key": "s",
            "s3.session-token": "t",
        },
    },
    "AWS Glue": {
        "uri": "https://glue.us-east-1.amazonaws.com/iceberg",
        "user": {
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "glue",
            "rest.signing-region": "us-east-1",
        },
        "config": {
            "prefix": "catalogs/123",
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "glue",
            "rest.signing-region": "us-east-1",
            "rest-metrics-reporting-enabled": "false",
        },
        "table": {
            "client.region": "us-east-1",
        },
    },
    "S3 Tables": {
        "uri": "https://s3tables.us-east-1.amazonaws.com/iceberg",
        "user": {
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "s3tables",
        },
        "config": {
            "prefix": "arn%3Aaws%3As3tables",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "write.object-storage.enabled": "true",
            "s3.delete-enabled": "false",
            "rest-metrics-reporting-enabled": "false",
        },
        "table": {},
    },
    "Gravitino": {
        "uri": "http://gravitino:9001/iceberg",
        "config": {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.endpoint": "http://minio:9000",
            "client.region": "us-east-1",
            "warehouse": "s3://b/w",
        },
        "table": {
            "s3.access-key-id": "k",
            "s3.secret-access-key": "s",
        },
    },
}


@pytest.mark.parametrize("server", SERVERS)
def test_what_real_servers_send_counts(server: str) -> None:
    sent = SERVERS[server]
    trust = Trust("c", {"uri": sent["uri"], "credential": "id:secret", **sent.get("user", {})})
    for properties in (sent["config"], sent["table"]):
        assert trust.accepted(properties, "The server") == properties
        trust.check_stores(properties, "The server")


def names_in_the_code() -> set[str]:
    """Property names that the REST client and storage know, as text in their sources."""
    pattern = re.compile(
        r'"((?:s3|gcs|adls|client|rest|ssl|io|header|hdfs|auth|oauth2)[.\-][a-z0-9.\-]*[a-z0-9]'
        r'|uri|token|credential|scope|prefix|warehouse|namespace-separator|py-io-impl)"'
    )
    folders = (SOURCE / "catalog" / "rest", SOURCE / "io")
    files = (file for folder in folders for file in folder.rglob("*.py"))
    return {name for file in files for name in pattern.findall(file.read_text())}


def test_each_property_that_the_code_reads_has_a_ruling() -> None:
    names = names_in_the_code()
    assert len(names) > 40
    assert {name for name in names if ruling_of(name) is None} == set()


def test_names_of_a_family_do_not_leak_its_ruling() -> None:
    assert ruling_of("s3.access-key-id") is Ruling.OWN
    assert ruling_of("s3.region") is Ruling.HARMLESS
    assert ruling_of("HEADER.HOST") is Ruling.USER
    assert ruling_of("header.X-Custom") is Ruling.HARMLESS
    assert ruling_of("nessie.is-nessie-catalog") is None


@pytest.mark.parametrize("name", ["/dir.t", "db./t", "db.../t", "db..t", "db.a/../../t"])
def test_a_name_leads_out_of_no_warehouse(name: str, tmp_path: Path) -> None:
    uri, warehouse = f"sqlite:///{tmp_path}/c.db", tmp_path / "warehouse"
    catalog = load_catalog("c", type="sql", uri=uri, warehouse=str(warehouse))
    with pytest.raises(IcebergError):
        catalog.location_of(name)  # type: ignore[attr-defined]


def test_a_lock_follows_no_link_and_empties_no_file(tmp_path: Path) -> None:
    """A neighbour on the machine can place a link where the lock of a table is going to be."""
    locks, victim = tmp_path / "locks", tmp_path / "victim"
    victim.write_text("precious")
    table = "memory://bucket/t/metadata/v1.metadata.json"
    with _locked(str(locks), table):
        (lock,) = locks.iterdir()
    lock.write_text("kept")
    with _locked(str(locks), table):
        assert lock.read_text() == "kept"
    lock.unlink()
    lock.symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"), _locked(str(locks), table):
        pass
    assert victim.read_text() == "precious"


YAML = """
catalog:
  prod:
    type: rest
    uri: https://evil.example.com
"""


def test_a_file_of_the_current_folder_gets_no_secret_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes a project's files would otherwise get the token of everybody who runs it."""
    project, home = tmp_path / "project", tmp_path / "home"
    for folder in (project, home):
        folder.mkdir()
    (project / ".pyiceberg.yaml").write_text(YAML)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("PYICEBERG_HOME", raising=False)
    assert configured_catalog("prod", {})["uri"] == "https://evil.example.com"
    token = {"PYICEBERG_CATALOG__PROD__TOKEN": "secret"}
    with pytest.raises(InvalidInputError, match="PYICEBERG_CATALOG__PROD__URI too"):
        configured_catalog("prod", token)
    named = {**token, "PYICEBERG_CATALOG__PROD__URI": "https://right.example.com"}
    assert configured_catalog("prod", named)["uri"] == "https://right.example.com"
    (home / ".pyiceberg.yaml").write_text(YAML)  # the user's own configuration comes first
    assert configured_catalog("prod", token)["token"] == "secret"
    (home / ".pyiceberg.yaml").unlink()
    monkeypatch.setenv("HOME", str(project))
    assert configured_catalog("prod", token)["token"] == "secret"


@pytest.mark.parametrize("path", ["abfss://c@evil.example.com/t/f", "abfs://c@a.evil.com/t/f"])
def test_a_path_names_no_host_that_gets_azure_credentials(path: str) -> None:
    io = open_storage({"adls.token": "users", "adls.account-name": "a"})
    with pytest.raises(UnsupportedError, match=r"adls\.account-host"):
        io.read_bytes(path)
    check_account_host("abfss://c@account.dfs.core.windows.net/t/f", {"adls.token": "users"})
    check_account_host(path, {"adls.account-host": path.split("@")[1].split("/", maxsplit=1)[0]})


def test_a_task_gets_no_secret_of_another_store() -> None:
    properties = {
        "s3.secret-access-key": "s3", "client.region": "r", "io.timeout-s": "5",
        "gcs.oauth2.token": "google", "adls.account-key": "azure", "credential": "id:secret",
        "token": "catalogs", "unknown": "?", "hdfs.user": "me",
    }  # fmt: skip
    for store, mine in {"s3": "s3.", "gs": "gcs.", "abfs": "adls.", "hdfs": "hdfs."}.items():
        io = FsspecIO(properties).limited_to(frozenset({store}))
        in_task = pickle.loads(pickle.dumps(io)).properties
        starts = {name.partition(".")[0] + "." for name in in_task}
        assert starts <= {mine, "client.", "io."}, store
        assert any(name.startswith(mine) for name in in_task)
        assert io.properties["credential"] == "id:secret"
    whole = pickle.loads(pickle.dumps(FsspecIO(properties)))
    assert whole.properties == properties
