"""Spark's plans and expressions as this library reads them, classic and over Connect."""
