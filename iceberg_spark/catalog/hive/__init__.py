"""Tables in a Hive metastore, as Java's HiveCatalog keeps them; needs the extra `hive`."""
