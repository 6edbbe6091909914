"""PySpark's internals, versions, workers and the session."""
