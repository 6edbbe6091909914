"""SQL statements as values: their clauses are parsed here, expressions stay the user's text."""
