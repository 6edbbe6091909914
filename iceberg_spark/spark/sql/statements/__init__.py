"""Statements of SQL as values: their heads are read here, expressions stay the user's text."""
