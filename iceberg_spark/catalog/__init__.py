"""Catalogs: load table metadata and swap it atomically."""
