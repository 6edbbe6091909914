"""`iceberg_spark.doctor`: a short check of the installation."""
