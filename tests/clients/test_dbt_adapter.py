"""dbt's own suite for adapters, with its tables and views in the catalog `lake`.

Its suites SimpleMaterializations and Ephemeral fail with Java's runtime too: they look for views in
dbt's catalog, and SHOW TABLE EXTENDED lists none. With Java, AdapterMethod and the teardown of five
more suites fail: dbt drops its schemas with CASCADE, and Java's catalogs refuse those with tables.
Its fixtures are a plugin of pytest, which `scripts/run_tests.py` names. `make clients` runs it.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from dbt.tests.adapter.basic.test_adapter_methods import BaseAdapterMethod
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_incremental import BaseIncremental
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
ICEBERG = {"+file_format": "iceberg"}


class WithIceberg:
    """Configures the projects of a suite."""

    @pytest.fixture(scope="class", autouse=True)
    def current_namespace(self, lake: SparkSession) -> Iterator[None]:
        lake.sql("CREATE NAMESPACE IF NOT EXISTS lake.views")
        lake.sql("USE lake.views")
        yield
        lake.sql("USE spark_catalog")

    @pytest.fixture(scope="class")
    def dbt_profile_target(self) -> dict[str, Any]:
        return {"type": "spark", "method": "session", "host": "none"}

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        models = {**ICEBERG, "+incremental_strategy": "append"}
        return {"name": "suite", "models": models, "seeds": ICEBERG, "snapshots": ICEBERG}


class TestAdapterMethod(WithIceberg, BaseAdapterMethod): ...


class TestEmpty(WithIceberg, BaseEmpty): ...


class TestGenericTests(WithIceberg, BaseGenericTests): ...


class TestIncremental(WithIceberg, BaseIncremental): ...


class TestSingularTests(WithIceberg, BaseSingularTests): ...


class TestSingularTestsEphemeral(WithIceberg, BaseSingularTestsEphemeral): ...


class TestSnapshotCheckCols(WithIceberg, BaseSnapshotCheckCols): ...


class TestSnapshotTimestamp(WithIceberg, BaseSnapshotTimestamp): ...
