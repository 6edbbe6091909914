"""The report of a table for people: aggregates of its metadata as one HTML file."""
