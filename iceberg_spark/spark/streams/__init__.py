"""Streams of an enabled session."""
