#!/bin/sh
# Prints the folder of Postgres' programs (initdb, postgres), which tests of catalogs run. Where there
# are none and it may be done without asking (root on a Debian-like system), installs them.
set -eu

find_postgres() {
    beside="$(command -v initdb || true)"
    for program in /usr/lib/postgresql/*/bin/postgres "${beside%initdb}postgres" \
        /opt/homebrew/opt/postgresql*/bin/postgres; do
        folder="${program%/postgres}"
        if [ -x "$program" ] && [ -x "$folder/initdb" ]; then
            printf '%s\n' "$folder"
            return 0
        fi
    done
    return 1
}

install_postgres() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    echo "No Postgres found: installing one with apt-get, for tests." >&2
    apt-get update -qq >&2 </dev/null || true
    apt-get install -y -qq --no-install-recommends postgresql >&2 </dev/null
}

if find_postgres; then exit 0; fi
if install_postgres && find_postgres; then exit 0; fi
echo "Tests of catalogs in a database need Postgres and none was found. Install one (Debian, Ubuntu:" \
    "'apt-get install postgresql'; macOS: 'brew install postgresql')." >&2
exit 1
