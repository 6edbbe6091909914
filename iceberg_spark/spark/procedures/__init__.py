"""Maintenance work as Spark jobs."""
