"""Iceberg's types and values as Arrow's: schemas, transforms, schema evolution."""
