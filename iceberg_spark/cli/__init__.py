"""The command line `iceberg-spark`: one function for each command, over the public API."""
