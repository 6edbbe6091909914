"""Row-level changes on Spark: its joins and expressions, our files and commits."""
