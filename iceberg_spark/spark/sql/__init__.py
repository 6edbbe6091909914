"""Queries as SQL text over tables of ours and of Spark's."""
