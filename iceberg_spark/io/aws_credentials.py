"""Keys of AWS that only botocore finds: profiles, single sign-on, roles that are assumed.

Those in properties, in the environment and of an instance or a container the client finds itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from iceberg_spark.errors import StoragePermissionError, UnsupportedError
from iceberg_spark.lazy import LazyModule

session = LazyModule("botocore.session")

_FILES = (
    ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
    ("AWS_CONFIG_FILE", "~/.aws/config"),
)
_LIFETIME = timedelta(minutes=10)
"""Assumed lifetime of keys without one; the client renews them five minutes before the end."""
_ROLE_SESSION = "iceberg-spark"


@dataclass(frozen=True, slots=True)
class AwsProfile:
    """A provider of keys, called again before they expire, and the profile's region."""

    credentials: Callable[[], dict[str, Any]]
    region: str | None


def aws_profile(
    name: str | None, role: str | None, properties: Mapping[str, str], region: str | None
) -> AwsProfile | None:
    """Return the profile to use, None if there is no profile, role or file of profiles.

    Raises UnsupportedError if one is named and botocore is not installed.
    """
    named = name or os.environ.get("AWS_PROFILE")
    in_environment = "AWS_ACCESS_KEY_ID" in os.environ
    if not (named or role) and (in_environment or not any(map(_is_there, _FILES))):
        return None
    try:
        aws_session = session.Session(profile=named)
    except ImportError:
        if not (named or role):
            return None
        raise UnsupportedError(
            "Profiles and roles of AWS need botocore; pip install 'iceberg-spark[s3]'"
        ) from None
    region = region or aws_session.get_config_variable("region")
    if role:
        return AwsProfile(lambda: _assumed(aws_session, role, properties, region), region)
    if not named and aws_session.get_credentials() is None:  # files without keys
        return None
    return AwsProfile(lambda: _profile_keys(named), region)


def _is_there(file: tuple[str, str]) -> bool:
    variable, usual = file
    return Path(os.environ.get(variable, usual)).expanduser().is_file()


def _profile_keys(name: str | None) -> dict[str, Any]:
    credentials = session.Session(profile=name).get_credentials()  # a session reads files once
    if credentials is None:
        raise StoragePermissionError(f"The AWS profile '{name}' has no keys")
    frozen = credentials.get_frozen_credentials()
    return {
        "access_key_id": frozen.access_key,
        "secret_access_key": frozen.secret_key,
        "token": frozen.token,
        "expires_at": datetime.now(UTC) + _LIFETIME,
    }


def _assumed(
    aws: Any, role: str, properties: Mapping[str, str], region: str | None
) -> dict[str, Any]:
    session_name = properties.get("s3.role-session-name") or properties.get(
        "client.role-session-name"
    )
    client = aws.create_client("sts", region_name=region or "us-east-1")
    answer = client.assume_role(RoleArn=role, RoleSessionName=session_name or _ROLE_SESSION)
    keys = answer["Credentials"]
    return {
        "access_key_id": keys["AccessKeyId"],
        "secret_access_key": keys["SecretAccessKey"],
        "token": keys["SessionToken"],
        "expires_at": keys["Expiration"],
    }
