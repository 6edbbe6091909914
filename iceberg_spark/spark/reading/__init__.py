"""Plans as frames."""
