#!/bin/sh
# Writes constraints.txt and constraints-clients.txt from pyproject.toml (needs uv). What is pinned
# already stays, where it still fits. For an upgrade delete the lines to be renewed first.
set -eu
cd "$(dirname "$0")/.."
new="$(mktemp)"
trap 'rm -f "$new"' EXIT

# $1: file, $2: what it is for; then options
lock() {
    file="$1" purpose="$2"
    shift 2
    [ -e "$file" ] || : >"$file"
    uv pip compile pyproject.toml "$@" --python-version 3.11.5 --constraint "$file" --quiet \
        --no-header --no-annotate --output-file "$new"
    { echo "# $purpose"; echo "# Written by scripts/lock.sh."; cat "$new"; } >"$file"
}

lock constraints.txt \
    "The versions that CI runs with. PySpark's own is in constraints-4.1.txt and -4.3.txt." \
    --group dev --group docs
sed -i '/^pyspark==/d' constraints.txt
lock constraints-clients.txt "The versions that dbt, Ibis and the other clients are tested with." --group clients

