"""Replacements for methods of PySpark in an enabled session (`ice.enable`), for Iceberg tables."""
