#!/bin/sh
# Prints the home of a Java that Spark 4 can run on (17 or newer). Where there is none and it may be
# done without asking (root on a Debian-like system), installs one; otherwise says what to do.
set -eu

home_if_new_enough() { # $1: a java program
    properties="$("$1" -XshowSettings:properties -version 2>&1)" || return 1
    version="$(printf '%s\n' "$properties" | sed -n 's/^ *java\.specification\.version = //p')"
    home="$(printf '%s\n' "$properties" | sed -n 's/^ *java\.home = //p')"
    case "$version" in '' | *[!0-9]*) return 1 ;; esac # 1.8 is too old as well
    [ "$version" -ge 17 ] && printf '%s\n' "$home"
}

find_java() {
    for java in "${JAVA_HOME:-/nowhere}/bin/java" "$(command -v java || true)" \
        /usr/lib/jvm/*/bin/java /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java; do
        if [ -x "$java" ] && home_if_new_enough "$java"; then return 0; fi
    done
    return 1
}

install_java() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    echo "No Java 17 or newer found: installing one with apt-get." >&2
    apt-get update -qq >&2 </dev/null || true
    for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
        if apt-get install -y -qq --no-install-recommends "$package" >&2 </dev/null; then return 0; fi
    done
    return 1
}

if find_java; then exit 0; fi
if install_java && find_java; then exit 0; fi
echo "Spark needs Java 17 or newer and none was found. Install one (Debian, Ubuntu:" \
    "'apt-get install openjdk-17-jre-headless'; macOS: 'brew install openjdk@17')" \
    "or set JAVA_HOME to where it is." >&2
exit 1
