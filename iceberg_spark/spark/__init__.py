"""Everything that needs PySpark."""
