"""Scan planning: from metadata to balanced groups of file scan tasks."""
