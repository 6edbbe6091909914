"""Predicates: parsed, bound to field ids, projected, and compiled to Arrow masks."""
