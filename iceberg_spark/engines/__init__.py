"""Who carries a change out: this process, or Spark where there is a session."""
