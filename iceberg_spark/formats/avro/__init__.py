"""Avro: containers, schemas, rows and columns."""
