"""Table and the functions users call: the one place that sees everything."""
