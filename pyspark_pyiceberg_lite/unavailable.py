"""The data source of a Python that can't run it: says what is missing, and in which Python."""

import sys
from importlib.util import find_spec

from pyspark.sql.datasource import DataSource

_DEPENDENCIES = (
    "cramjam", "fastavro", "fsspec", "mmh3", "numpy", "polars", "pyarrow", "pyiceberg_core",
    "sqlglot", "strictyaml", "tenacity", "xxhash",
)  # fmt: skip


def check_dependencies() -> None:
    """Check that what the source imports later is installed. Raises ModuleNotFoundError."""
    for name in _DEPENDENCIES:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def source_without(missing: ModuleNotFoundError) -> type[DataSource]:
    """Return a source of the same name whose every use says what is missing and what to do."""
    message = (
        f"pyiceberg-lite can't run in {sys.executable}, the Python of Spark's workers: it lacks "
        f"the module '{missing.name}'. Set PYSPARK_PYTHON to the Python that iceberg-spark is "
        "installed in (the driver's own: sys.executable) before the session starts, or install "
        "iceberg-spark there"
    )

    class UnavailableSource(DataSource):
        """Refuses to be made."""

        def __init__(self, options: dict[str, str]) -> None:
            super().__init__(options)
            raise ImportError(message)

        @classmethod
        def name(cls) -> str:
            """Return the short name for `format(...)`."""
            return "pyiceberg-lite"

    return UnavailableSource
