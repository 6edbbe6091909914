"""Spark's plans and expressions, read through its internals, classic and over Connect."""
