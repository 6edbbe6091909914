"""Java classes that the driver of a classic session compiles while it runs.

Janino compiles them, as it does Spark's generated code. Executors do not need them. If a class does
not compile for a version of Spark, the session works without it.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from importlib import resources
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from iceberg_spark.spark.session.classic_session import is_connect, java_packages

_log = logging.getLogger(__name__)
_PACKAGE = "iceberg_spark"
_JAVA = 8
"""The version of the Java language and class files: the newest that Janino supports completely."""
_USES = {
    "IcebergCatalog": "FilePruning",
    "FilePruning": "PlanJson",
    "PlanJson": "KeyFilters",
    "KeyFilters": "PlannedRelations",
}
"""Source files that use the public classes of another."""


def compiled_object(session: SparkSession, name: str, package: str | None) -> Any | None:
    """Return an object of a class whose source is in a package of this library.

    Returns None over Connect, and if the class does not compile.
    """
    if is_connect(session) or package is None:
        return None
    return _object(java_packages(session), name, package)


@lru_cache(maxsize=32)
def _object(packages: Any, name: str, home: str) -> Any | None:
    try:
        loader, package = _compiled(packages, name, home)
        java_class = loader.loadClass(f"{package}.{name}")
        return java_class.getDeclaredConstructor(None).newInstance(None)
    except (Py4JError, OSError):
        _log.warning("%s can't be compiled for this Spark", name, exc_info=True)
        return None


@lru_cache(maxsize=32)
def _compiled(packages: Any, name: str, home: str) -> tuple[Any, str]:
    """Compile a source file and return the loader of its classes, and their package.

    Each package has a unique name, because py4j caches classes by name: after a module is reloaded
    it would call the methods of the class that was compiled before.
    """
    if name in _USES:
        parent, package = _compiled(packages, _USES[name], home)
    else:
        parent = packages.java.lang.Thread.currentThread().getContextClassLoader()
        package = f"{_PACKAGE}.made_{uuid4().hex}"
    text = resources.files(home).joinpath(f"{name}.java").read_text(encoding="utf-8")
    compiler = packages.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.setSourceVersion(_JAVA)
    compiler.setTargetVersion(_JAVA)
    compiler.cook(text.replace(f"package {_PACKAGE};", f"package {package};"))
    return compiler.getClassLoader(), package
