"""Writing data and delete files from Arrow batches."""
