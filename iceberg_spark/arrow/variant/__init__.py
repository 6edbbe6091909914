"""Variants in Arrow: their binary encoding, and shredded columns put together again."""
