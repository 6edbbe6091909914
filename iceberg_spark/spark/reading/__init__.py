"""Scan plans as Spark DataFrames."""
