"""Metadata tables: a table's metadata as Arrow tables with the columns of Iceberg's Java."""
