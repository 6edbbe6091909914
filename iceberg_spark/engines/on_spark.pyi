from pyspark.sql import DataFrame as DataFrame
from pyspark.sql import SparkSession as SparkSession
from pyspark.sql.types import DataType as DataType
from pyspark.sql.types import StructField as StructField
from pyspark.sql.types import StructType as StructType

from iceberg_spark.spark.adapt.types import from_spark as from_spark
from iceberg_spark.spark.procedures.column_sketches import sketch_runner as sketch_runner
from iceberg_spark.spark.procedures.compaction import compactor as compactor
from iceberg_spark.spark.procedures.rewritten_deletes import runner as runner
from iceberg_spark.spark.procedures.source_table import SourceTable as SourceTable
from iceberg_spark.spark.procedures.source_table import folder_schema as folder_schema
from iceberg_spark.spark.procedures.source_table import source_table as source_table
from iceberg_spark.spark.procedures.source_table import taken_schema as taken_schema
from iceberg_spark.spark.procedures.unreachable_files import listed_files as listed_files
from iceberg_spark.spark.procedures.unreachable_files import where_it_pays as where_it_pays
from iceberg_spark.spark.reading.metadata_frame import change_frame as change_frame
from iceberg_spark.spark.reading.plan_frame import plan_frame as plan_frame
from iceberg_spark.spark.reading.plan_frame import reading_lines as reading_lines
from iceberg_spark.spark.row_level.apply_changes import CdcRows as CdcRows
from iceberg_spark.spark.row_level.apply_changes import apply_on_spark as apply_on_spark
from iceberg_spark.spark.row_level.apply_changes import cdc_rows as cdc_rows
from iceberg_spark.spark.row_level.apply_changes import truncated_at as truncated_at
from iceberg_spark.spark.row_level.delete import delete_on_spark as delete_on_spark
from iceberg_spark.spark.row_level.delete import rewritten_on_spark as rewritten_on_spark
from iceberg_spark.spark.row_level.envelopes import message_sample as message_sample
from iceberg_spark.spark.row_level.envelopes import new_fields_of as new_fields_of
from iceberg_spark.spark.row_level.envelopes import unwrapped_frame as unwrapped_frame
from iceberg_spark.spark.row_level.kept_rows import kept_rows as kept_rows
from iceberg_spark.spark.row_level.merge_modes import merge_on_spark as merge_on_spark
from iceberg_spark.spark.row_level.update import update_on_spark as update_on_spark
from iceberg_spark.spark.row_level.upsert import plan_upsert as plan_upsert
from iceberg_spark.spark.row_level.upsert import run_upsert as run_upsert
from iceberg_spark.spark.session.active_session import active_session as active_session
from iceberg_spark.spark.session.active_session import in_session as in_session
from iceberg_spark.spark.session.active_session import is_case_sensitive as is_case_sensitive
from iceberg_spark.spark.session.active_session import needed_session as needed_session
from iceberg_spark.spark.session.active_session import session_time_zone as session_time_zone
from iceberg_spark.spark.session.option_defaults import (
    session_write_defaults as session_write_defaults,
)
from iceberg_spark.spark.session.session_catalogs import session_catalog as session_catalog
from iceberg_spark.spark.session.session_dialect import session_dialect as session_dialect
from iceberg_spark.spark.sql.new_view import analysed_view as analysed_view
from iceberg_spark.spark.sql.new_view import text_for_trino as text_for_trino
from iceberg_spark.spark.writing.distribution import distribution as distribution
from iceberg_spark.spark.writing.distribution import is_sortable as is_sortable
from iceberg_spark.spark.writing.write_files import write_frame as write_frame
