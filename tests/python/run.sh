#!/usr/bin/env bash
# tests/python/run.sh TSIM - the package for Python in tools/python: its functions beside the program, the examples of
# docs/library.md, the notebook in docs/examples; and tools/measure_gpu.py on a device that is made up. Runs with the release build alone, whose library `make test` links; skipped where
# Python is missing.
set -u
root=$(realpath "$(dirname "$0")/../..")
tsim=$(realpath "$1")
[ "$tsim" = "$root/build/tsim" ] && command -v python3 >/dev/null || {
    echo "skipped: not build/tsim, or no python3"
    exit 0
}
export TSIM_LIBRARY=${TSIM_LIBRARY:-$(echo "$root"/build/release/libtsim.so.*)} PYTHONPATH=$root/tools/python PYTHONDONTWRITEBYTECODE=1
python3 -W error "$root/tests/python/measure_gpu.py" --quiet || exit 1
exec python3 "$root/tests/python/package.py" "$tsim"
