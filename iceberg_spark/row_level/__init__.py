"""Row-level changes without Spark: target files, row changes, in-process deletes, upserts."""
