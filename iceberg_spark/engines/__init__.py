"""Chooses the engine of a change: this process, or Spark if there is a session."""
