#!/usr/bin/env bash
# tests/make.sh TSIM - objects are made anew when their compiler or its flags change, and only then. Runs with the program of
# the release build alone.
set -u
cd "$(dirname "$0")/.." || exit 1
[ "$(realpath "$1")" = "$(realpath build/tsim)" ] || {
  echo "skipped: not build/tsim"
  exit 0
}
unset MAKEFLAGS MAKELEVEL CFLAGS
build=build/flags-$$
trap 'rm -rf "$build"' EXIT
passed=0 failed=0
expect() { # WHAT SOURCE_COMPILED MAKE_ARGUMENT...
  local said
  said=$(make --no-print-directory "BUILD=$build" "${@:3}" "$build/sim/base/status.o" | grep '^cc')
  if [ "$said" = "$2" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $1: '$said', expected '$2'"
  fi
}
compiled='cc    sim/base/status.c'
expect 'first' "$compiled"
expect 'again' ''
expect 'warnings become errors' '' DEV=1
expect 'another place to be installed in' '' PREFIX=/opt
expect 'other flags' "$compiled" CFLAGS=-O1
expect 'other flags, again' '' CFLAGS=-O1
expect 'the first flags' "$compiled"
expect 'other flags of what is optimized more' "$compiled" HOT_CFLAGS=-O1
expect 'the first of those' "$compiled"
make --no-print-directory "BUILD=$build" "$build/sim/engine/join.o" >/dev/null # which is built with them
expect 'after an object that has them' ''
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
