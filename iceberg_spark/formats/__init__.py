"""File formats: Avro, Parquet, ORC, and metrics of written files."""
