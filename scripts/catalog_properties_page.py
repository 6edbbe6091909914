"""The tables of docs/catalog-properties.md: each property of a catalog and its storage.

python -m scripts.catalog_properties_page           # print them
python -m scripts.catalog_properties_page --write   # write them into docs/catalog-properties.md
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from iceberg_spark.catalog.hive.hive_table import largest
from iceberg_spark.catalog.hive.lock import LockTimes
from iceberg_spark.catalog.rest.settings import rest_settings
from iceberg_spark.io.fsspec_io import DEFAULT_TIMEOUT_S

PAGE = Path(__file__).resolve().parent.parent / "docs" / "catalog-properties.md"
BEGIN = "<!-- begin: make settings -->"
END = "<!-- end: make settings -->"
_REST = rest_settings("", {"uri": "http://localhost"})
_LOCK = LockTimes()


@dataclass(frozen=True, slots=True)
class CatalogProperty:
    """A property by its `names` (separated by commas), its meaning and its default."""

    names: str
    meaning: str
    default: str = ""


def _of(names: str, meaning: str, default: object = "") -> CatalogProperty:
    return CatalogProperty(names, meaning, str(default))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


_ALL = (
    _of("type", "the [kind of catalog](catalogs.md#kinds)", "decided by the other properties"),
    _of("catalog-impl", "the name of Java's class, instead of `type`"),
    _of("uri", "the address of the server, database or metastore"),
    _of("warehouse", "where new tables go. For REST, the server's name of one of its warehouses"),
    _of("table-default.", "`table-default.x` is `x` of new tables, unless they set it"),
    _of("table-override.", "`table-override.x` is `x` of new tables, always"),
    _of("default-namespace", "what `USE catalog` chooses in SQL", "the root namespace"),
    _of(
        "use-nullable-query-schema",
        "`false`: `CREATE TABLE ... AS SELECT` keeps required columns required",
        "true",
    ),
    _of(
        "view.allow-code",
        "`true`: views may run code ([Security](security.md#views-run-no-code))",
        "false",
    ),
    _of("io-impl", "not used; a class that is not Java's or PyIceberg's gives a warning"),
    _of("py-io-impl", "`pyiceberg.io.fsspec.FsspecFileIO` chooses fsspec's drivers", "obstore"),
)
_REST_SERVER = (
    _of("uri", "the server's address, `http://...` or `https://...`", "required"),
    _of("prefix", "a part of the paths, exactly as written", "what the server names"),
    _of("namespace-separator", "between the levels of a namespace in paths", "`%1F`"),
    _of("rest-page-size", "names in a page of a list", "the server decides"),
    _of("header.", "`header.NAME` is a header of each request"),
    _of(
        "rest.client.connection-timeout-ms",
        "milliseconds to connect",
        _ms(_REST.connect_timeout_s),
    ),
    _of(
        "rest.client.socket-timeout-ms",
        "milliseconds without an answer",
        _ms(_REST.socket_timeout_s),
    ),
    _of("rest.client.max-retries", "how often a read is repeated", _REST.max_retries),
    _of(
        "scan-planning-mode",
        "`client` or `server`: who [plans scans](server-side-planning.md) of a table that does not "
        "say so itself",
        "client",
    ),
    _of(
        "rest-scan-planning.poll-timeout-ms",
        "milliseconds to wait until the server has planned a scan",
        _ms(_REST.planning_timeout_s),
    ),
    _of(
        "rest-metrics-reporting-enabled",
        "`false`: the server gets no reports of scans and commits",
        str(_REST.reports).lower(),
    ),
    _of(
        "view-endpoints-supported",
        "`true`: the server has views, although it lists no endpoints",
        "false",
    ),
    _of(
        "scan-planning-mode",
        "`server`: the catalog plans scans ([Let the catalog plan scans](server-side-planning.md))",
        "client",
    ),
    _of(
        "rest-scan-planning.poll-timeout-ms",
        "milliseconds to wait for a plan of the server",
        _ms(_REST.planning_timeout_s),
    ),
    _of("ssl.cabundle", "a file with the certificates to trust", "those of the system"),
    _of("ssl.client.cert, ssl.client.key", "files with the client's certificate and its key"),
    _of(
        "client.refresh-credentials-enabled",
        "`false`: a table's storage credentials are not renewed",
        "true",
    ),
    _of(
        "client.refresh-credentials-endpoint",
        "the path that renews storage credentials",
        "the protocol's path",
    ),
)
_REST_AUTH = (
    _of(
        "rest.auth.type",
        "`none`, `basic`, `oauth2` or `sigv4`",
        "`oauth2` with a token, credential or `oauth2-server-uri`, otherwise `none`",
    ),
    _of("token", "a bearer token"),
    _of("credential", "`client:secret`, which the token server exchanges for a token"),
    _of("oauth2-server-uri", "the token server", "`v1/oauth/tokens` of the catalog"),
    _of("scope", "the scope of the requested token", "catalog"),
    _of("audience, resource", "sent to the token server"),
    _of(
        "token-expires-in-ms",
        "milliseconds that `token` lives",
        "what the token itself says",
    ),
    _of("token-refresh-enabled", "`false`: tokens are not renewed", "true"),
    _of(
        "token-exchange-enabled",
        "`true`: tokens are renewed by exchange; `false`: by the credential only",
        "exchange if there is no credential",
    ),
    _of("urn:ietf:params:oauth:token-type:", "a token of this type, exchanged for the catalog's"),
    _of("rest.auth.basic.username, rest.auth.basic.password", "for the type `basic`"),
    _of("rest.sigv4-enabled", "`true` is the type `sigv4`, which needs botocore", "false"),
    _of(
        "rest.auth.sigv4.delegate-auth-type",
        "the authentication that is signed, too",
        "as for `rest.auth.type`",
    ),
    _of("rest.signing-name", "the AWS service in the signature", "execute-api"),
    _of("rest.signing-region", "its region", "`client.region`, `s3.region`, AWS's configuration"),
    _of(
        "rest.access-key-id, rest.secret-access-key, rest.session-token",
        "keys that sign requests",
        "`client.*`, `s3.*`, AWS's configuration",
    ),
    _of(
        "tasks.allow-credential",
        "`true` sends Spark's tasks the `credential`, for jobs that outlive a token "
        "([Security](security.md#what-sparks-tasks-get))",
        "false",
    ),
)
_DATABASE = (
    _of("uri", "`sqlite:////folder/catalog.db`, `postgresql://...` or `jdbc:...`", "required"),
    _of("jdbc.user, jdbc.password", "user and password", "those in `uri`"),
    _of("init_catalog_tables", "`false`: the catalog's tables must exist", "true"),
)
_HIVE = (
    _of("uri", "`thrift://host:9083`, or several with commas", "required"),
    _of("ugi", "`user:group`: whom the metastore sees", "the user of the process"),
    _of("hive.metastore.client.socket.timeout", "seconds without an answer: `600` or `600s`", 300),
    _of("hive.hive2-compatible", "`false`: timestamps with zone have Hive 3's type", "true"),
    _of("iceberg.engine.hive.lock-enabled", "`false`: commits take no lock", "true"),
    _of("iceberg.hive.lock-timeout-ms", "milliseconds to wait for a lock", _ms(_LOCK.timeout)),
    _of(
        "iceberg.hive.lock-check-min-wait-ms",
        "milliseconds of the first pause between two tries",
        _ms(_LOCK.first_pause),
    ),
    _of(
        "iceberg.hive.lock-check-max-wait-ms",
        "milliseconds of the longest pause",
        _ms(_LOCK.longest_pause),
    ),
    _of(
        "iceberg.hive.lock-heartbeat-interval-ms",
        "milliseconds between renewals",
        _ms(_LOCK.heartbeat),
    ),
    _of(
        "iceberg.hive.table-property-max-size",
        "characters of a parameter; longer ones are left out",
        largest({}),
    ),
    _of(
        "hive.kerberos-authentication, hive.metastore.sasl.enabled, hive.metastore.use.SSL, "
        "hive.metastore.client.thrift.transport.mode",
        "refused if they ask for Kerberos, TLS or HTTP",
    ),
)
_GLUE = (
    _of("glue.id", "the account of the catalog", "the caller's"),
    _of("glue.endpoint", "another server", "AWS"),
    _of("glue.region", "the region", "`client.region`"),
    _of("glue.profile-name", "a profile of `~/.aws`", "`client.profile-name`"),
    _of(
        "glue.access-key-id, glue.secret-access-key, glue.session-token",
        "keys",
        "`client.*`, AWS's configuration",
    ),
    _of("glue.skip-archive", "`false`: Glue keeps the former versions of a table's entry", "true"),
    _of("glue.max-retries", "how often a call is repeated", 10),
    _of("glue.retry-mode", "botocore's way to repeat", "standard"),
)
_DYNAMODB = (
    _of("table-name", "the table in DynamoDB", "iceberg"),
    _of("dynamodb.endpoint", "another server", "AWS"),
    _of("dynamodb.region", "the region", "`client.region`"),
    _of("dynamodb.profile-name", "a profile of `~/.aws`; not used with `dynamodb.endpoint`"),
    _of(
        "dynamodb.access-key-id, dynamodb.secret-access-key, dynamodb.session-token",
        "keys",
        "`client.*`, AWS's configuration",
    ),
)
_AMAZON = (
    _of(
        "client.access-key-id, client.secret-access-key, client.session-token",
        "keys for S3, Glue, DynamoDB and signed requests, unless their own are set",
        "[Credentials](storage.md#credentials)",
    ),
    _of("client.region", "their region"),
    _of("client.profile-name", "a profile of `~/.aws`", "`AWS_PROFILE`"),
    _of("client.role-arn, client.role-session-name", "a role to assume, for S3"),
)
_ANY_STORE = (
    _of(
        "io.timeout-s",
        "seconds that a store may take to answer, and that failures are repeated",
        f"{DEFAULT_TIMEOUT_S:g}",
    ),
    _of(
        "io.allowed-schemes",
        "other stores, buckets and hosts that a table's metadata may name, separated by commas "
        "([Security](security.md#stores-of-a-table))",
        "the table's own",
    ),
    _of(
        "io.redirect-hosts",
        "hosts that your store may redirect to ([Security](security.md#redirects-of-a-store))",
        "none",
    ),
    _of(
        "io.lock-path",
        "a shared folder for locks "
        "([Commits](storage.md#commits-and-stores-without-conditional-put))",
    ),
    _of(
        "io.max-decompressed-bytes, io.max-avro-types, io.max-empty-records",
        "[limits that protect you](reading.md#limits-that-protect-you)",
    ),
)
_S3 = (
    _of(
        "s3.endpoint",
        "a server other than AWS; `http://` is allowed if you write it",
        "`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, AWS",
    ),
    _of(
        "s3.access-key-id, s3.secret-access-key, s3.session-token",
        "keys; also as `client.*`",
        "[Credentials](storage.md#credentials)",
    ),
    _of("s3.profile-name", "a profile of `~/.aws`; also as `client.*`", "`AWS_PROFILE`"),
    _of("s3.role-arn, s3.role-session-name", "a role to assume; also as `client.*`"),
    _of("s3.region", "also `client.region`", "`AWS_REGION`, the profile's, a request to AWS"),
    _of("s3.anonymous", "`true`: requests are not signed", "false"),
    _of("s3.force-virtual-addressing", "`true`: the bucket is part of the host's name", "false"),
    _of(
        "s3.path-style-access",
        "`true`: the bucket is part of the path; obstore does so anyway",
        "false",
    ),
    _of(
        "s3.connect-timeout",
        "seconds to connect",
        f"half of `io.timeout-s`: {DEFAULT_TIMEOUT_S / 2:g}",
    ),
    _of("s3.request-timeout", "seconds without an answer", "60"),
    _of("s3.proxy-uri", "a proxy", "those of the environment"),
    _of(
        "s3.server-side-encryption, s3.sse-kms-key-id",
        "how objects are encrypted: `AES256` or `aws:kms`, and its key",
    ),
    _of(
        "s3.sse.type, s3.sse.key",
        "the same by Java's names: `none`, `s3`, `kms`, `dsse-kms`",
        "none",
    ),
)
_GOOGLE = (
    _of("gcs.oauth2.token", "a token", "`GOOGLE_APPLICATION_CREDENTIALS`, the machine's account"),
    _of("gcs.service.host", "another server", "Google"),
    _of("gcs.anonymous", "`true`: requests are not signed", "false"),
    _of(
        "gcs.requester-pays, gcs.session-kwargs, gcs.access",
        "choose fsspec's driver, gcsfs",
    ),
    _of("gcs.project-id, gcs.default-bucket-location", "for gcsfs only"),
)
_AZURE = (
    _of("adls.account-name, adls.account-key", "the account and its key", "`AZURE_STORAGE_*`"),
    _of("adls.sas-token", "a signature; `adls.sas-token.ACCOUNT` is for one account"),
    _of("adls.token", "a bearer token"),
    _of("adls.connection-string", "account, key and server in one text"),
    _of("adls.tenant-id, adls.client-id, adls.client-secret", "a service principal", "`AZURE_*`"),
    _of("adls.account-host", "another host", "the host in the location"),
    _of("adls.anon", "`true`: requests are not signed", "false"),
    _of("adls.credential", "chooses fsspec's driver, adlfs"),
)
_HDFS = (
    _of(
        "hdfs.host, hdfs.port",
        "the name node of locations without a host",
        "`fs.defaultFS` of `HADOOP_CONF_DIR`",
    ),
    _of("hdfs.kerberos_ticket", "a cache of Kerberos tickets", "that of the environment"),
    _of("hdfs.user", "chooses fsspec and libhdfs, as this user"),
)
SECTIONS = {
    "All catalogs": _ALL,
    "REST: the server": _REST_SERVER,
    "REST: authentication": _REST_AUTH,
    "Databases": _DATABASE,
    "Hive": _HIVE,
    "Glue": _GLUE,
    "DynamoDB": _DYNAMODB,
    "All of Amazon's services": _AMAZON,
    "All stores": _ANY_STORE,
    "S3": _S3,
    "Google Cloud Storage": _GOOGLE,
    "Azure": _AZURE,
    "HDFS": _HDFS,
}
"""The properties by the section of the page."""


def names() -> frozenset[str]:
    """Return the names of all properties; a prefix ends with a dot or a colon."""
    return frozenset(
        name
        for section in SECTIONS.values()
        for described in section
        for name in described.names.split(", ")
    )


def report() -> str:
    """Return a section for each kind of catalog and store, each with a table."""
    return "\n".join(f"## {title}\n\n{_table(section)}" for title, section in SECTIONS.items())


def insert_report(page: str) -> str:
    """Return the page with new tables between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{report()}\n{END}{after}"


def _table(section: tuple[CatalogProperty, ...]) -> str:
    lines = ["| property | meaning | default |", "|---|---|---|"]
    for described in section:
        spelled = ", ".join(f"`{_spelled(name)}`" for name in described.names.split(", "))
        lines.append(f"| {spelled} | {described.meaning} | {described.default} |")
    return "\n".join(lines) + "\n"


def _spelled(name: str) -> str:
    return f"{name}*" if name.endswith((".", ":")) else name


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(insert_report(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(report())
