"""fsspec file systems of locations, created from PyIceberg's storage properties."""

from __future__ import annotations

import inspect
import io
import threading
from collections.abc import Callable, Mapping
from typing import Any

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io.location import MEMORY, store_of
from iceberg_spark.io.numbers import is_true, number

MEMORY_LOCK = threading.RLock()
"""Held while a file appears in or leaves the memory store, which has no atomic operation."""


class SharedMemoryFiles(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no types
    """The memory store with a separate handle for each reader (fsspec's share one position)."""

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        if mode == "rb":
            return io.BytesIO(self.cat_file(path))
        return super()._open(path, mode, **kwargs)


def file_system(
    location: str, properties: Mapping[str, str], timeout_s: float, *, once: bool = False
) -> Any:
    """Return the fsspec file system of a location (fsspec caches one for equal arguments).

    With `once` the retries of S3's driver are off (aiohttp still retries after a lost connection).

    Raises ImportError for a driver that is not installed, UnsupportedError for a scheme that
    fsspec does not support.
    """
    store = store_of(location)
    if store == MEMORY:
        return SharedMemoryFiles()
    try:
        kind = fsspec.get_filesystem_class(store)
    except ValueError:
        raise UnsupportedError(
            f"Can't open {location}: there is no file system for {store}: locations; "
            "fsspec's names are file, memory, s3, gs, abfs, hdfs and others"
        ) from None
    arguments = _ARGUMENTS.get(store, _no_arguments)(properties, timeout_s)
    if store in _CONDITIONAL_PUT:  # their cached listings would hide other writers' commits
        arguments["use_listings_cache"] = False
    from_url = kind._get_kwargs_from_urls(_spelt_for_driver(location))
    options = {key: value for key, value in arguments.items() if value is not None}
    if not (once and store == "s3"):
        return kind(**{**from_url, **options})
    config = {**options["config_kwargs"], "retries": {"total_max_attempts": 1}}  # botocore's
    files = kind(**{**from_url, **options, "config_kwargs": config})
    files.retries = 1  # s3fs's own
    return files


def driver_path(files: Any, location: str) -> str:
    """Return a location as its file system spells it."""
    return str(files._strip_protocol(_spelt_for_driver(location)))


def _spelt_for_driver(location: str) -> str:
    _, colon, rest = location.partition(":")
    spelling = "abfss" if store_of(location) == "abfs" else store_of(location)
    return f"{spelling}:{rest}" if colon else location


def creates_atomically(files: Any, store: str) -> bool:
    """Return whether a driver creates an object atomically.

    fsspec's default checks first and writes then, which lets two writers win; the drivers of S3,
    Google and Azure have a conditional put in the versions whose `pipe_file` accepts `mode`.
    """
    if store not in _CONDITIONAL_PUT:
        return False
    method = files._pipe_file
    names = inspect.signature(method).parameters
    return "mode" in names or (store == "abfs" and "overwrite" in names)


_CONDITIONAL_PUT = ("s3", "gs", "abfs")


def _no_arguments(_properties: Mapping[str, str], _timeout_s: float) -> dict[str, Any]:
    return {}


def _s3(properties: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    get = properties.get

    def either(name: str) -> str | None:
        return get(f"s3.{name}") or get(f"client.{name}")

    config: dict[str, Any] = {
        "connect_timeout": number(properties, "s3.connect-timeout", timeout_s / 2),
        "read_timeout": number(properties, "s3.request-timeout", 60.0),
        "retries": {"max_attempts": 1},
    }
    if proxy := get("s3.proxy-uri"):
        config["proxies"] = {"http": proxy, "https": proxy}
    if is_true(properties, "s3.force-virtual-addressing"):
        config["s3"] = {"addressing_style": "virtual"}
    elif is_true(properties, "s3.path-style-access"):
        config["s3"] = {"addressing_style": "path"}
    encryption = {
        "ServerSideEncryption": get("s3.server-side-encryption"),
        "SSEKMSKeyId": get("s3.sse-kms-key-id"),
    }
    return {
        "anon": is_true(properties, "s3.anonymous"),
        "profile": either("profile-name"),
        "endpoint_url": get("s3.endpoint"),
        "key": either("access-key-id"),
        "secret": either("secret-access-key"),
        "token": either("session-token"),
        "client_kwargs": {"region_name": region} if (region := either("region")) else {},
        "config_kwargs": config,
        "s3_additional_kwargs": {key: value for key, value in encryption.items() if value},
    }


def _gs(properties: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    get = properties.get
    return {
        "project": get("gcs.project-id"),
        "access": get("gcs.access"),
        "token": get("gcs.oauth2.token"),
        "requester_pays": is_true(properties, "gcs.requester-pays"),
        "endpoint_url": get("gcs.service.host"),
        "default_location": get("gcs.default-bucket-location"),
        "requests_timeout": max(timeout_s, 60.0),
    }


def _abfs(properties: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    names = (
        "connection-string", "credential", "account-name", "account-key", "sas-token",
        "tenant-id", "client-id", "client-secret", "account-host",
    )  # fmt: skip
    options = {name.replace("-", "_"): properties.get(f"adls.{name}") for name in names}
    anonymous = is_true(properties, "adls.anon")
    return {**options, "anon": anonymous, "connection_timeout": max(1, int(timeout_s / 2))}


def _hdfs(properties: Mapping[str, str], _timeout_s: float) -> dict[str, Any]:
    return {
        "host": properties.get("hdfs.host"),
        "port": int(number(properties, "hdfs.port", 0)) or None,
        "user": properties.get("hdfs.user"),
        "kerb_ticket": properties.get("hdfs.kerberos_ticket"),
    }


_ARGUMENTS: dict[str, Callable[[Mapping[str, str], float], dict[str, Any]]] = {
    "s3": _s3,
    "gs": _gs,
    "abfs": _abfs,
    "hdfs": _hdfs,
}
