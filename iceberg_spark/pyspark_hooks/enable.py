"""`enable(spark)`: the session's own `spark.sql`, `spark.read` and `df.write` take Iceberg tables.

PySpark has no hook for a source that is a frame of other sources, so the properties `read` and
`readStream` of the session's class, `write` and `writeStream` of its frames' class are replaced.
They return PySpark's own reader or writer, of a subclass with this library's methods
(`reader_hook`, `writer_hook`, `stream_writer_hook`); PySpark handles all
other formats. Methods of the session, its frames and its catalog are replaced by ones that
check for Iceberg tables (`sql_hook`, `frame_hook`, `catalog_hook`). This file is all of the patch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from pyspark.sql import SparkSession

from iceberg_spark.pyspark_hooks.catalog_changes import hooked_changes
from iceberg_spark.pyspark_hooks.catalog_hook import hooked_catalog
from iceberg_spark.pyspark_hooks.frame_hook import hooked_frames
from iceberg_spark.pyspark_hooks.reader_hook import ReaderHook, StreamReaderHook
from iceberg_spark.pyspark_hooks.spark_errors import raising_spark_errors, translated_methods
from iceberg_spark.pyspark_hooks.sql_hook import hooked_sql, hooked_table
from iceberg_spark.pyspark_hooks.stream_writer_hook import StreamWriterHook
from iceberg_spark.pyspark_hooks.writer_hook import WriterHook
from iceberg_spark.spark.catalyst.spark_catalog import begin_catalogs, end_catalogs
from iceberg_spark.spark.session.active_session import checked_session
from iceberg_spark.spark.session.classic_session import session_of_catalog
from iceberg_spark.spark.session.own_methods import copy_function, redirect
from iceberg_spark.spark.session.worker_python import check_worker_python
from iceberg_spark.spark.sql.current_namespace import current_namespace, use_namespace
from iceberg_spark.spark.sql.enabled_sessions import (
    add,
    is_enabled,
    leave,
    lock,
    originals,
    session_id,
)
from iceberg_spark.spark.sql.spark_queries import register_catalogs
from iceberg_spark.statements.current import give_default_back, take_default


def enable(spark: SparkSession) -> None:
    """Make a session, classic or Connect, read and write Iceberg tables by all of Spark's API.

    In this session, from here on:

    - `spark.sql`, `spark.table` and `spark.read.table` know the tables of configured catalogs, and
      tables by their location in backticks.
    - `spark.read.format("pyiceberg-lite")` returns DataFrames of Spark's own Parquet reader, with
      its column pruning and filter push-down.
    - `df.write`, `df.writeTo`, `df.mergeInto`, `saveAsTable`, `insertInto` and streams write with
      all save modes, `partitionBy` and `distribution-mode`.
    - `spark.catalog` lists the catalogs, and a `spark.sql.defaultCatalog` that is an Iceberg
      catalog becomes the current one.

    Other formats, other sessions and readers created before stay unchanged. Calling it again has
    no effect. `disable` undoes it.

    Args:
        spark: The session, classic or Connect.

    Raises:
        InvalidInputError: Spark's workers would run a Python without this package, or the
            session's default catalog is described wrongly.

    Examples:
        >>> ice.enable(spark)
        >>> spark.sql("SELECT count(*) FROM prod.shop.orders").show()
    """
    key = session_id(checked_session(spark))
    check_worker_python(spark)
    take_default(spark)  # a catalog that is described wrongly leaves the session as it was
    frame = spark.range(0)
    with lock:
        add(key)
        _replace(type(spark), "read", ReaderHook, lambda session: session)
        _replace(type(spark), "readStream", StreamReaderHook, lambda session: session)
        _replace(type(frame), "write", WriterHook, lambda frame: frame.sparkSession)
        _replace(type(frame), "writeStream", StreamWriterHook, lambda frame: frame.sparkSession)
        _replace_method(type(spark), "sql", hooked_sql, _itself)
        _replace_method(type(spark), "table", hooked_table, _itself)
        for name, hooked in hooked_frames().items():
            _replace_method(type(frame), name, hooked, _of_frame)
        kind = type(spark.catalog)
        for name, hooked in {**hooked_catalog(), **hooked_changes()}.items():
            if hasattr(kind, name):  # some are newer than this PySpark
                _replace_method(kind, name, hooked, session_of_catalog)
    begin_catalogs(spark)
    register_catalogs(spark)
    use_namespace(spark, current_namespace(spark))


def disable(spark: SparkSession) -> None:
    """Undo `enable` for this session; with the last one PySpark is unchanged again.

    The choice of USE is dropped. Objects that statements created in the session stay: functions of
    catalogs, which DataFrames from before need over Connect, and temporary views. A view over a
    table of a catalog needs an enabled session if Spark resolves the table.

    Args:
        spark: The session, classic or Connect.

    Examples:
        >>> ice.enable(spark)
        >>> ice.disable(spark)
    """
    leave(spark)
    end_catalogs(spark)
    give_default_back(spark)


def _replace(owner: type, name: str, hook: type, session_of: Callable[[Any], SparkSession]) -> None:
    """Replace a property of one of PySpark's classes, once."""
    if (owner, name) in originals:
        return
    original: property = vars(owner)[name]
    get = cast(Callable[[Any], Any], original.fget)
    hooked: dict[type, type] = {}  # by PySpark's class, one for each of classic and Connect

    def get_hooked(self: Any) -> Any:
        builder = get(self)
        session = session_of(self)
        if is_enabled(session):
            kind = type(builder)
            if kind not in hooked:
                hooked[kind] = type(kind.__name__, (hook, kind), translated_methods(hook))
            builder.__class__ = hooked[kind]
            builder.begin(self)
        return builder

    originals[owner, name] = original
    setattr(owner, name, property(get_hooked, doc=original.__doc__))


def _itself(session: Any) -> SparkSession:
    return cast(SparkSession, session)


def _of_frame(frame: Any) -> SparkSession:
    return cast(SparkSession, frame.sparkSession)


def _replace_method(
    owner: type,
    name: str,
    hooked: Callable[[Any], Any],
    session_of: Callable[[Any], SparkSession],
) -> None:
    """Replace a method of one of PySpark's classes, once."""
    if (owner, name) in originals:
        return
    original = vars(owner)[name]
    own = copy_function(original)
    hook = raising_spark_errors(hooked(own))

    @wraps(own)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        run = hook if is_enabled(session_of(self)) else own
        return run(self, *args, **kwargs)

    originals[owner, name] = original
    setattr(owner, name, method)
    redirect(original, owner, method)  # for those who bound it before
