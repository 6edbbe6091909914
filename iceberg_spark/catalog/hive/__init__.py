"""Tables in a Hive metastore, compatible with Java's HiveCatalog; needs the extra `hive`."""
