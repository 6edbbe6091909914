"""Catalog properties that are configured outside the program, like PyIceberg's.

They come from `.pyiceberg.yaml` in the folder `PYICEBERG_HOME`, the home folder or the current one
(the first that exists), and from environment variables, which override the file.
`PYICEBERG_CATALOG__PROD__S3__ENDPOINT` is the property `s3.endpoint` of the catalog `prod`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iceberg_spark.catalog.trust import gets_secrets
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec.secrets import is_secret

strictyaml = LazyModule("strictyaml")

_FILE = ".pyiceberg.yaml"
_PREFIX = "PYICEBERG_CATALOG__"
_DEFAULT_BY_FILE, _DEFAULT_BY_VARIABLE = "default-catalog", "PYICEBERG_DEFAULT_CATALOG"
DEFAULT_CATALOG = "default"


def configured_catalog(
    name: str, environment: Mapping[str, str] | None = None, folders: tuple[Path, ...] = ()
) -> dict[str, str]:
    """Return the configured properties of a catalog, none if it is not configured.

    `environment` defaults to the process's, `folders` to PyIceberg's.

    Raises:
        InvalidInputError: a file of the current folder names the server, and a secret comes from
            the environment. Whoever writes a project's files is not the one who sets the
            environment.
    """
    variables = os.environ if environment is None else environment
    searched = folders or _folders(variables)
    in_file, in_environment = _from_file(name, searched), _from_environment(name, variables)
    if _is_of_current_folder(_file_in(searched), variables):
        _check_addresses(name, in_file, in_environment)
    return {**in_file, **in_environment}


def configured_names() -> list[str]:
    """Return the names of all configured catalogs, in lower case."""
    names = {name.lower() for name in _catalogs_of_file(_folders(os.environ))}
    for key in os.environ:
        if key.upper().startswith(_PREFIX):
            names.add(key[len(_PREFIX) :].partition("__")[0].lower())
    return sorted(names)


def default_catalog() -> str:
    """Return the name of the default catalog."""
    by_file = _content_of_file(_folders(os.environ)).get(_DEFAULT_BY_FILE)
    return os.environ.get(_DEFAULT_BY_VARIABLE) or str(by_file or DEFAULT_CATALOG)


def _folders(variables: Mapping[str, str]) -> tuple[Path, ...]:
    home = variables.get("PYICEBERG_HOME")
    return (*((Path(home),) if home else ()), Path.home(), Path.cwd())


def _is_of_current_folder(path: Path | None, variables: Mapping[str, str]) -> bool:
    """Return whether a file is in the current folder and is not the user's own configuration."""
    home = variables.get("PYICEBERG_HOME")
    own = {Path.home(), *((Path(home),) if home else ())}
    return path is not None and path.parent == Path.cwd() and path.parent not in own


def _check_addresses(name: str, file: Mapping[str, str], environment: Mapping[str, str]) -> None:
    addresses = [key for key in file if gets_secrets(key) and key not in environment]
    secrets = [key for key in environment if is_secret(key) and key not in file]
    if addresses and secrets:
        raise InvalidInputError(
            f"{_FILE} of the current folder sets {addresses[0]} of catalog '{name}', and the "
            f"environment its {secrets[0]}, which would go there. If you trust that address, set "
            f"{_variable(name, addresses[0])} too, or move the file to your home folder"
        )


def _variable(name: str, key: str) -> str:
    spelled = key.replace("-", "_").replace(".", "__").upper()
    return f"{_PREFIX}{name.upper()}__{spelled}"


def _file_in(folders: tuple[Path, ...]) -> Path | None:
    return next((f / _FILE for f in folders if (f / _FILE).is_file()), None)


def _catalogs_of_file(folders: tuple[Path, ...]) -> dict[str, Any]:
    catalogs = _content_of_file(folders).get("catalog")
    return catalogs if isinstance(catalogs, dict) else {}


def _content_of_file(folders: tuple[Path, ...]) -> dict[str, Any]:
    path = _file_in(folders)
    if path is None:
        return {}
    try:
        content = strictyaml.load(path.read_text(encoding="utf-8")).data
    except strictyaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"its line {mark.line + 1}" if mark else "it"
        raise InvalidInputError(  # the library's message shows the line, which may have a password
            f"{path} is not the YAML that PyIceberg reads: {line} is no plain 'key: value', each "
            "key once, below its catalog by spaces, without brackets, anchors and tabs"
        ) from None
    return content if isinstance(content, dict) else {}


def _from_file(name: str, folders: tuple[Path, ...]) -> dict[str, str]:
    catalogs = _catalogs_of_file(folders)
    section = next((value for key, value in catalogs.items() if key.lower() == name.lower()), None)
    return _flat(section) if isinstance(section, dict) else {}


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = str(value)
    return flat


def _from_environment(name: str, variables: Mapping[str, str]) -> dict[str, str]:
    start = f"{_PREFIX}{name}__".lower()
    return {
        key[len(start) :].lower().replace("__", ".").replace("_", "-"): value
        for key, value in variables.items()
        if key.lower().startswith(start)
    }
