"""Maintenance: which files a table no longer needs."""
