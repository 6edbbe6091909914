#!/bin/sh
# Prints the path of MariaDB's server program (mariadbd), from which `make feeds` records changes. Where
# there is none and it may be done without asking (root on a Debian-like system), installs it.
set -eu

find_mariadb() {
    for program in "$(command -v mariadbd || true)" /usr/sbin/mariadbd /opt/homebrew/bin/mariadbd; do
        if [ -x "$program" ]; then
            printf '%s\n' "$program"
            return 0
        fi
    done
    return 1
}

install_mariadb() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    echo "No MariaDB found: installing one with apt-get, for tests." >&2
    apt-get update -qq >&2 </dev/null || true
    apt-get install -y -qq --no-install-recommends mariadb-server-core mariadb-client-core >&2 </dev/null
}

if find_mariadb; then exit 0; fi
if install_mariadb && find_mariadb; then exit 0; fi
echo "Feeds of changes need MariaDB and none was found. Install one (Debian, Ubuntu:" \
    "'apt-get install mariadb-server-core mariadb-client-core'; macOS: 'brew install mariadb')." >&2
exit 1
