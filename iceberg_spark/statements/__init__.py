"""Statements of SQL on Iceberg tables: `iceberg_spark.sql(spark, text)` and `%%iceberg`."""
