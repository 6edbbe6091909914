from iceberg_spark.api.cascade import drop_with_all as drop_with_all
from iceberg_spark.api.catalog_transaction import CatalogTransaction as CatalogTransaction
from iceberg_spark.api.new_table import create as create
from iceberg_spark.api.schema_input import SchemaInput as SchemaInput
from iceberg_spark.catalog.chosen_location import chosen_location as chosen_location
from iceberg_spark.catalog.metadata_file import read_metadata as read_metadata
from iceberg_spark.catalog.rest.rest_catalog import RestCatalog as RestCatalog
from iceberg_spark.maintenance.drop import drop_table as drop_table
