"""Spark's types, options and filters as the core's values, and back."""
