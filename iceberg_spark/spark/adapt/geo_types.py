"""Spark's geometries, which it has from 4.1 on, and Iceberg's."""

from __future__ import annotations

import re

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as s

from iceberg_spark.arrow.arrays import struct_of
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

_SWITCH = "spark.sql.geospatial.enabled"
_SRID = 4326
_NUMBERED = re.compile(r"(?:EPSG|SRID):(\d+)", re.IGNORECASE)
_SPHERICAL = (None, "spherical")


def spark_geo(kind: t.GeometryType | t.GeographyType) -> s.DataType | None:
    """Return Spark's type of a geometry, None where it has none for the CRS or algorithm."""
    srid = _srid(kind.crs)
    if srid is None or (isinstance(kind, t.GeographyType) and kind.algorithm not in _SPHERICAL):
        return None
    try:
        return s.GeometryType(srid) if isinstance(kind, t.GeometryType) else s.GeographyType(srid)
    except PySparkException:
        return None


def iceberg_geo(kind: s.GeometryType | s.GeographyType) -> t.IcebergType | None:
    """Return the type of a column of Spark, None where its values have several CRS."""
    if kind.srid < 0:
        return None
    crs = None if kind.srid == _SRID else f"EPSG:{kind.srid}"
    return t.GeometryType(crs) if isinstance(kind, s.GeometryType) else t.GeographyType(crs)


def _srid(crs: str | None) -> int | None:
    if crs is None or crs.upper() == t.DEFAULT_CRS:
        return _SRID
    match = _NUMBERED.fullmatch(crs)
    return None if match is None else int(match[1])


def spark_wkb(column: pa.Array, kind: t.GeometryType | t.GeographyType) -> pa.StructArray:
    """Return WKB as PySpark hands geometries over: with their SRID."""
    fields = [pa.field("srid", pa.int32(), nullable=False), pa.field("wkb", pa.binary(), False)]
    srid = pa.repeat(pa.scalar(_srid(kind.crs) or 0, pa.int32()), len(column))
    return struct_of(len(column), [srid, column.fill_null(b"")], pa.struct(fields), column)


def check_geo_types(schema: Schema, spark: SparkSession) -> None:
    """Raise UnsupportedError naming a column of geometries where the session has none."""
    for field_id in schema.field_ids:
        kind = schema.find_type(field_id)
        if isinstance(kind, t.GeometryType | t.GeographyType) and (
            str(spark.conf.get(_SWITCH, "false")).lower() != "true"
        ):
            raise UnsupportedError(
                f"Column '{schema.find_column_name(field_id)}' has type {kind}, and this session "
                f"has no geometries: set {_SWITCH} to true, read it as WKB by to_arrow(), or "
                "leave it out by selected_fields"
            )
