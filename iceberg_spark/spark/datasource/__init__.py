"""The Python data source 'pyiceberg-lite'; runs in Spark's Python workers."""
