"""Reading tasks: deletes applied, rows filtered, metadata columns added."""
