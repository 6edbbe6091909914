"""SQL texts about Iceberg tables and Spark's tables: parsing, planning and running queries."""
