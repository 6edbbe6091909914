"""Metadata tables: what a table's metadata says, as Arrow tables with Java's columns."""
