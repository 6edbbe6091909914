"""Changes of a table's definition as data, made by us and by Java on twin tables.

A change is a tuple of a word and its arguments, such as ("rename", "a.b", "c"); a list of them is
one update, one commit.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.errors import IcebergError
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.types import IcebergType, NestedField
from tests.builders import type_of
from tests.oracle.java_api import JavaObject, iceberg, location

Change: TypeAlias = tuple[Any, ...]
Update: TypeAlias = Sequence[Change]
DEFINITION = (
    "schemas", "current-schema-id", "last-column-id", "partition-specs", "default-spec-id",
    "last-partition-id", "sort-orders", "default-sort-order-id",
)  # fmt: skip
SPEC_WORDS = {"field", "unfield", "refield", "order of fields", "not default"}
SORT_WORDS = {"sort", "unsorted"}


def java_table(spark: SparkSession, path: str) -> JavaObject:
    """Load a table with Java by its location."""
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    return iceberg(spark).hadoop.HadoopTables(conf).load(path)


def twins(spark: SparkSession, name: str, *args: Any, **options: Any) -> tuple[str, str]:
    """Make two equal tables; return where they are."""
    places = location(spark, f"{name}_ours"), location(spark, f"{name}_java")
    for place in places:
        ice.create_table(place, *args, **options)
    return places


def metadata_of(path: str) -> dict[str, Any]:
    """Return the newest metadata, as JSON."""
    files = Path(path.removeprefix("file:")).glob("metadata/v*.metadata.json")
    newest = max(files, key=lambda file: int(file.name[1:].split(".")[0]))
    return json.loads(newest.read_text())  # type: ignore[no-any-return]


def versions(path: str) -> int:
    return len(list(Path(path.removeprefix("file:")).glob("metadata/v*.metadata.json")))


def definition(path: str) -> dict[str, Any]:
    """Return schemas, specs and orders with all their ids, as JSON."""
    node = metadata_of(path)
    return {key: node[key] for key in DEFINITION}


def ours(path: str, update: Update, **options: Any) -> str | None:
    """Make an update; return why it was refused, None when it was made."""
    table = ice.load_table(path)
    words = {change[0] for change in update}
    try:
        if words <= SPEC_WORDS:
            with table.update_spec(**options) as spec:
                for change in update:
                    _spec_change(spec, *change)
        elif words <= SORT_WORDS:
            with table.update_sort_order(**options) as order:
                for _, direction, text, nulls in _sort_fields(update):
                    getattr(order, direction)(text, null_order=nulls)
        else:
            with table.update_schema(**options) as schema:
                for change in update:
                    _schema_change(schema, *change)
    except IcebergError as error:
        return str(error)
    return None


def _schema_change(update: Any, word: str, *args: Any) -> None:
    match word, args:
        case "add", (path, kind, *rest):
            options = rest[0] if rest else {}
            parent, _, name = path.rpartition(".")
            names = (*parent.split("."), name) if parent else name
            update.add_column(names, type_of(kind), **options)
        case "widen", (path, kind):
            update.update_column(path, type_of(kind))
        case "doc", (path, text):
            update.update_column(path, doc=text)
        case "optional", (path,):
            update.make_column_optional(path)
        case "require", (path,):
            update.update_column(path, required=True)
        case "identify", names:
            update.set_identifier_fields(*names)
        case "union", (schema,):
            update.union_by_name(schema)
        case _:
            method = {"rename": "rename_column", "delete": "delete_column", "first": "move_first",
                      "before": "move_before", "after": "move_after"}[word]  # fmt: skip
            getattr(update, method)(*args)


def _spec_change(update: Any, word: str, *args: Any) -> None:
    method = {"field": "add_field", "unfield": "remove_field", "refield": "rename_field",
              "order of fields": "reorder",
              "not default": "add_non_default_spec"}[word]  # fmt: skip
    getattr(update, method)(*args)


def _sort_fields(update: Update) -> list[Change]:
    return [change for change in update if change[0] == "sort"]


def javas(
    spark: SparkSession, path: str, update: Update, *, case_sensitive: bool = True,
    allow_incompatible_changes: bool = False,
) -> str | None:  # fmt: skip
    """Make the same update with Java; return why it was refused, None when it was made."""
    table = java_table(spark, path)
    words = {change[0] for change in update}
    try:
        if words <= SPEC_WORDS:
            one = table.updateSpec().caseSensitive(case_sensitive)
            for change in update:
                _java_spec_change(spark, one, *change)
        elif words <= SORT_WORDS:
            one = table.replaceSortOrder().caseSensitive(case_sensitive)
            for _, direction, text, nulls in _sort_fields(update):
                nulls_of = iceberg(spark).NullOrder
                order = nulls_of.NULLS_FIRST if nulls == "nulls first" else nulls_of.NULLS_LAST
                getattr(one, direction)(java_term(spark, text), order)
        else:
            one = table.updateSchema().caseSensitive(case_sensitive)
            if allow_incompatible_changes:
                one.allowIncompatibleChanges()
            for change in update:
                _java_schema_change(spark, one, *change)
        one.commit()
    except (Py4JJavaError, CapturedException) as error:
        return str(error)
    return None


def java_type(spark: SparkSession, kind: str | IcebergType) -> JavaObject:
    """Return Java's type of ours."""
    schema = Schema(NestedField(9999, "c", type_of(kind)))
    return java_schema(spark, schema).findField("c").type()


def java_schema(spark: SparkSession, schema: Schema) -> JavaObject:
    """Return Java's schema of ours."""
    return iceberg(spark).SchemaParser.fromJson(json.dumps(schema_to_dict(schema)))


def java_term(spark: SparkSession, text: str) -> JavaObject:
    """Return Java's term of `column`, `days(column)`, `bucket(16, column)`, ..."""
    terms = iceberg(spark).expressions.Expressions
    inside = text.rpartition("(")[2].rstrip(")").rpartition(",")[2].strip()
    function, _, rest = text.partition("(")
    if not rest:
        return terms.ref(text)
    if function in ("bucket", "truncate"):
        return getattr(terms, function)(inside, int(rest.partition(",")[0]))
    return getattr(terms, function.removesuffix("s"))(inside)


def _java_schema_change(spark: SparkSession, update: JavaObject, word: str, *args: Any) -> None:
    match word, args:
        case "add", (path, kind, *rest):
            options = rest[0] if rest else {}
            parent, _, name = path.rpartition(".")
            names = [parent, name] if parent else [name]
            method = update.addRequiredColumn if options.get("required") else update.addColumn
            doc = [options["doc"]] if "doc" in options else []
            method(*names, java_type(spark, kind), *doc)
        case "widen", (path, kind):
            update.updateColumn(path, java_type(spark, kind))
        case "doc", (path, text):
            update.updateColumnDoc(path, text)
        case "optional", (path,):
            update.makeColumnOptional(path)
        case "require", (path,):
            update.requireColumn(path)
        case "identify", names:
            update.setIdentifierFields(list(names))
        case "union", (schema,):
            update.unionByNameWith(java_schema(spark, schema))
        case _:
            method = {"rename": "renameColumn", "delete": "deleteColumn", "first": "moveFirst",
                      "before": "moveBefore", "after": "moveAfter"}[word]  # fmt: skip
            getattr(update, method)(*args)


def _java_spec_change(spark: SparkSession, update: JavaObject, word: str, *args: Any) -> None:
    match word, args:
        case "field", (text,):
            update.addField(java_term(spark, text))
        case "field", (text, name):
            update.addField(name, java_term(spark, text))
        case "unfield", (text,) if "(" in text:
            update.removeField(java_term(spark, text))
        case "unfield", (name,):
            update.removeField(name)
        case "refield", (name, new):
            update.renameField(name, new)
        case "not default", ():
            update.addNonDefaultSpec()
        case _:
            raise NotImplementedError(word)
