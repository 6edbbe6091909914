#!/bin/sh
# Makes .venv-lowest: each dependency in the lowest version that pyproject.toml allows, and pytest.
# There is no PySpark in it. Packages come as wheels only: old versions do not build any more.
set -eu
cd "$(dirname "$0")/.."
python="$1"
[ -x .venv-lowest/bin/uv ] || {
    "$python" -m venv .venv-lowest
    .venv-lowest/bin/python -m pip install --quiet --no-input uv
}
uv="$PWD/.venv-lowest/bin/uv"
pins=.venv-lowest/lowest.txt
"$uv" pip compile pyproject.toml --extra rest --extra sql --extra s3 --extra hive --extra postgres \
    --extra pyiceberg --resolution lowest-direct --no-build --quiet --no-header --no-annotate \
    --output-file "$pins"
grep -v '^pytest-cov' constraints.txt | grep -E '^(hypothesis|pandas|pytest)' >.venv-lowest/tools.txt
"$uv" pip install --quiet --python .venv-lowest --no-build -r "$pins" -r .venv-lowest/tools.txt
