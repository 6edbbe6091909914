"""Starts the Spark session of dbt, with Iceberg tables in it.

dbt imports every module whose name begins with `dbt_`. Its Spark adapter then uses the session that
is running already.
"""

from pathlib import Path

from pyspark.sql import SparkSession

import iceberg_spark as ice

FOLDER = Path(__file__).resolve().parent / "target"
FOLDER.mkdir(exist_ok=True)
spark = (
    SparkSession.builder.appName("dbt")
    .config("spark.sql.catalog.lake.type", "sql")
    .config("spark.sql.catalog.lake.uri", f"sqlite:///{FOLDER}/lake.db")
    .config("spark.sql.catalog.lake.warehouse", f"{FOLDER}/lake")
    .config("spark.sql.defaultCatalog", "lake")
    .getOrCreate()
)
ice.enable(spark)
# dbt creates views for snapshots in the current namespace.
spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
spark.sql("USE lake.shop")
