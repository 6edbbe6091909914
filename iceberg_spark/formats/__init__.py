"""File formats: Avro, Parquet, ORC, and the metrics of what is written."""
