"""When Hadoop's S3A asks the same server with the same rights as a table's own properties."""

from collections.abc import Mapping

import pytest

from iceberg_spark.spark.reading.engine_choice import foreign_s3_property

SERVER = {"s3.endpoint": "http://minio:9000"}
KEYS = {"s3.access-key-id": "a", "s3.secret-access-key": "s"}
OF_SPARK = {
    "fs.s3a.endpoint": "http://minio:9000/",
    "fs.s3a.access.key": "a",
    "fs.s3a.secret.key": "s",
}


def found(properties: Mapping[str, str], settings: Mapping[str, str]) -> str | None:
    return foreign_s3_property(properties, "b", settings.get)


@pytest.mark.parametrize(
    ("properties", "settings"),
    [
        ({}, {}),
        ({"gcs.oauth2.token": "x", "io.timeout-s": "3"}, {}),
        ({"s3.region": "eu", "s3.request-timeout": "3", "s3.sse.type": "kms"}, {}),
        ({**SERVER, **KEYS}, OF_SPARK),
        ({"client.access-key-id": "a", "client.secret-access-key": "s"}, OF_SPARK),
        (SERVER, {"fs.s3a.endpoint": "MINIO:9000", "fs.s3a.connection.ssl.enabled": "false"}),
        ({"s3.endpoint": "https://s3.example.org"}, {"fs.s3a.endpoint": "s3.example.org"}),
        (SERVER, {"fs.s3a.bucket.b.endpoint": "http://minio:9000", "fs.s3a.endpoint": "other"}),
        (KEYS, {**OF_SPARK, "fs.s3a.aws.credentials.provider": "x.SimpleAWSCredentialsProvider,y"}),
        ({**KEYS, "s3.session-token": "t"}, {**OF_SPARK, "fs.s3a.session.token": "t"}),
    ],
)
def test_what_hadoop_has_too_is_no_hindrance(properties: dict[str, str], settings: dict[str, str]):
    assert found(properties, settings) is None


@pytest.mark.parametrize(
    ("properties", "settings", "name"),
    [
        (SERVER, {}, "s3.endpoint"),
        (SERVER, {"fs.s3a.endpoint": "https://minio:9000"}, "s3.endpoint"),
        (SERVER, {"fs.s3a.endpoint": "minio:9000"}, "s3.endpoint"),
        (SERVER, {**OF_SPARK, "fs.s3a.bucket.b.endpoint": "http://other"}, "s3.endpoint"),
        (KEYS, {}, "s3.access-key-id"),
        (KEYS, {**OF_SPARK, "fs.s3a.secret.key": "other"}, "s3.secret-access-key"),
        (KEYS, {**OF_SPARK, "fs.s3a.session.token": "t"}, "s3.session-token"),
        ({**KEYS, "s3.session-token": "t"}, OF_SPARK, "s3.session-token"),
        (KEYS, {**OF_SPARK, "fs.s3a.aws.credentials.provider": "x.Anonymous"}, "s3.access-key-id"),
        ({"s3.anonymous": "true"}, OF_SPARK, "s3.anonymous"),
        ({"s3.role-arn": "r"}, OF_SPARK, "s3.role-arn"),
        ({"client.profile-name": "p"}, OF_SPARK, "client.profile-name"),
        ({"s3.proxy-uri": "http://p"}, OF_SPARK, "s3.proxy-uri"),
        ({"s3.something-to-come": "x"}, OF_SPARK, "s3.something-to-come"),
    ],
)
def test_what_hadoop_has_otherwise_is_named(
    properties: dict[str, str], settings: dict[str, str], name: str
):
    assert found(properties, settings) == name
