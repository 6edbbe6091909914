"""Row-level changes with Spark's joins and expressions."""
