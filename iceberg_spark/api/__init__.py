"""The public API: Table and the functions that users call. It may import every other package."""
