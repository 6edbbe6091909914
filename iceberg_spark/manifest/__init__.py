"""Manifests and manifest lists, written from values and read as columns."""
