"""Statements of SQL carried out by the table API: `iceberg_spark.sql(spark, text)`."""
