#!/bin/sh
# Writes constraints.txt anew from pyproject.toml (needs uv); what is pinned already stays, where
# it still fits. For an upgrade delete the lines to be renewed first.
set -eu
cd "$(dirname "$0")/.."
new="$(mktemp)"
trap 'rm -f "$new"' EXIT
uv pip compile pyproject.toml --extra dev --extra docs --python-version 3.11 \
    --constraint constraints.txt --quiet --no-header --no-annotate --output-file "$new"
{
    echo "# The versions that CI runs with. PySpark's own is in constraints-4.1.txt and -4.3.txt."
    echo "# Written by scripts/lock.sh."
    grep -v '^pyspark==' "$new"
} > constraints.txt
