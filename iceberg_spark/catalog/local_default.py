"""The catalog `local`, which needs no server and no configuration."""

from __future__ import annotations

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.lazy import LazyModule

platformdirs = LazyModule("platformdirs")

LOCAL_CATALOG = "local"
_FOLDER = "iceberg_spark"


def local_properties() -> dict[str, str]:
    """Create and return a SQLite file and a warehouse in the user's data folder.

    Raises UnsupportedError if the extra `sql` is not installed.
    """
    try:
        home = platformdirs.user_data_path(_FOLDER, appauthor=False, ensure_exists=True)
    except ImportError as error:
        raise UnsupportedError(
            f"Catalog '{LOCAL_CATALOG}' needs pip install 'iceberg-spark[sql]'"
        ) from error
    return {
        "type": "sql",
        "uri": f"sqlite:///{home / 'catalog.db'}",
        "warehouse": str(home / "warehouse"),
    }
