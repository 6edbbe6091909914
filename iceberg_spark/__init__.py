"""Apache Iceberg for PySpark with no JAR."""
