"""The table format as data: standard library only, no I/O."""
