"""Frames composed on the driver, where there is a SparkSession."""
