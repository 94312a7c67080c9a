#!/bin/sh
# setup.sh PACKAGE... - installs the named Debian packages that are missing, saying so; silent when none is.
# Exit status: 0 all there; 1 something is missing and cannot be installed here (the message names it).
#
# Where another apt or dpkg holds a lock, as a machine that updates itself after its start does, it waits and says so.
#
# TSIM_APT_GET and TSIM_DPKG_QUERY replace the two programs, TSIM_LOCK_WAIT and TSIM_LOCK_PAUSE the seconds to wait in all and
# between two attempts: for the tests.
set -u

apt_get=${TSIM_APT_GET:-apt-get}
dpkg_query=${TSIM_DPKG_QUERY:-dpkg-query}

# One query for all; it fails as soon as one package is unknown, so its status says nothing.
# shellcheck disable=SC2016 # dpkg-query's own ${...}
installed() {
    "$dpkg_query" -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p'
}

# Without dpkg, what can be seen: programs on the path, libraries that pkg-config knows.
present_without_dpkg() {
    case $1 in
    libgsl-dev) pkg-config --exists gsl 2>/dev/null ;;
    libyaml-dev) pkg-config --exists yaml-0.1 2>/dev/null ;;
    libsqlite3-dev) pkg-config --exists sqlite3 2>/dev/null ;;
    libjansson-dev) pkg-config --exists jansson 2>/dev/null ;;
    zlib1g-dev) pkg-config --exists zlib 2>/dev/null ;;
    libexpat1-dev) pkg-config --exists expat 2>/dev/null ;;
    libprotobuf-c-dev) pkg-config --exists libprotobuf-c 2>/dev/null ;;
    libmicrohttpd-dev) pkg-config --exists libmicrohttpd 2>/dev/null ;;
    protobuf-c-compiler) command -v protoc-c >/dev/null 2>&1 ;;
    check) pkg-config --exists check 2>/dev/null ;;
    *) return 1 ;;
    esac
}

# Programs need only be there: pkgconf takes pkg-config's place on newer releases, and Node.js's own packages
# bring npm and refuse Debian's.
has_program() {
    case $1 in
    pkg-config | npm | chromium) command -v "$1" >/dev/null 2>&1 ;;
    nodejs) command -v node >/dev/null 2>&1 ;;
    *) return 1 ;;
    esac
}

find_missing() {
    missing=
    if command -v "$dpkg_query" >/dev/null 2>&1; then
        have=$(installed "$@")
        for package in "$@"; do
            printf '%s\n' "$have" | grep -qxF "$package" || has_program "$package" || missing="$missing $package"
        done
    else
        for package in "$@"; do
            has_program "$package" || present_without_dpkg "$package" || missing="$missing $package"
        done
    fi
}

find_missing "$@"
[ -z "$missing" ] && exit 0

if ! command -v "$apt_get" >/dev/null 2>&1; then
    echo "setup: missing:$missing" >&2
    echo "setup: there is no apt-get here; install what these Debian packages hold, then run make again" >&2
    exit 1
fi

sudo=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "setup: missing:$missing" >&2
        echo "setup: not root and no sudo; as root: apt-get install -y$missing" >&2
        exit 1
    fi
    sudo=sudo
fi

echo "setup: installing$missing (${sudo:+sudo }apt-get install)"

lock_wait_s=${TSIM_LOCK_WAIT:-600}
errors=$(mktemp) || exit 1
trap 'rm -f "$errors"' EXIT

# TIMEOUT ARGUMENT...: apt-get waits so many seconds for dpkg's lock; its errors are kept, too.
apt_once() {
    timeout_s=$1
    shift
    $sudo env LC_ALL=C DEBIAN_FRONTEND=noninteractive "$apt_get" -o "DPkg::Lock::Timeout=$timeout_s" "$@" </dev/null >&2 2>"$errors"
    status=$?
    cat "$errors" >&2
    return $status
}
is_locked() {
    grep -q 'Could not get lock\|Unable to acquire the dpkg frontend lock' "$errors"
}
# apt-get waits for dpkg's lock alone, not for those of the lists and of the archive: these are asked for again.
apt() {
    apt_once 0 "$@" && return
    is_locked || return
    echo "setup: another apt or dpkg is running; waiting up to $lock_wait_s s for it to finish"
    until_s=$(($(date +%s) + lock_wait_s))
    while is_locked; do
        sleep "${TSIM_LOCK_PAUSE:-3}"
        left_s=$((until_s - $(date +%s)))
        [ "$left_s" -gt 0 ] || return 1
        apt_once "$left_s" "$@" && return
    done
    return 1
}
refresh() {
    echo "setup: refreshing the package lists (${sudo:+sudo }apt-get update)"
    apt update
}
# shellcheck disable=SC2086 # $missing is a list of package names
install() {
    apt install -y --no-install-recommends $missing
}

# A fresh machine or container has no package lists; old lists may name packages that are gone.
ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 || refresh
if ! install && ! { ! is_locked && refresh && install; }; then
    is_locked && echo "setup: another apt or dpkg still holds its lock; run make again when it has finished" >&2
    echo "setup: apt-get could not install:$missing" >&2
    exit 1
fi
