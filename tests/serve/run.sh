#!/usr/bin/env bash
# tests/serve/run.sh TSIM [long] - the server (serve.py). Skipped where Python or curl is missing.
set -u
if ! command -v python3 >/dev/null || ! command -v curl >/dev/null; then
    echo "skipped: no python3 or no curl"
    exit 0
fi
exec python3 "$(dirname "$0")/serve.py" "$@"
