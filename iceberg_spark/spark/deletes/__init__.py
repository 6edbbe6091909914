"""Deletes as Spark expressions: files with deletes, position bitmaps, equality keys."""
