"""Names that catalogs import when a method uses them first; see `deferred`."""

from __future__ import annotations

from iceberg_spark.lazy import LazyModule, LazyNames

__getattr__ = LazyNames(
    __name__,
    {
        LazyModule("iceberg_spark.api.cascade"): ("drop_with_all",),
        LazyModule("iceberg_spark.api.catalog_transaction"): ("CatalogTransaction",),
        LazyModule("iceberg_spark.api.new_table"): ("create",),
        LazyModule("iceberg_spark.api.schema_input"): ("SchemaInput",),
        LazyModule("iceberg_spark.catalog.chosen_location"): ("chosen_location",),
        LazyModule("iceberg_spark.catalog.metadata_file"): ("read_metadata",),
        LazyModule("iceberg_spark.catalog.rest.rest_catalog"): ("RestCatalog",),
        LazyModule("iceberg_spark.maintenance.drop"): ("drop_table",),
    },
)
