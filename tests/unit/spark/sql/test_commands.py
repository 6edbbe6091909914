"""Every kind of statement on Iceberg tables has a function that runs it."""

from typing import get_args

from iceberg_spark.spark.sql.statements.listings import ShowCurrentNamespace, Use
from iceberg_spark.spark.sql.statements.read import Command
from iceberg_spark.statements.commands import RUNNERS

NAMES_NO_TABLE = {Use, ShowCurrentNamespace}
"""`run.run_statement` runs these: they choose and show the current namespace."""


def test_every_command_has_a_function():
    assert set(RUNNERS) | NAMES_NO_TABLE == set(get_args(Command)) | NAMES_NO_TABLE
    assert not RUNNERS.keys() & NAMES_NO_TABLE
