"""What the library costs, as ratios to Java Iceberg and to Spark's own Parquet in one run."""
