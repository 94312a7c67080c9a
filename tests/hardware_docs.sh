#!/usr/bin/env bash
# docs/hardware.md lists what the catalogue holds: tests/hardware_docs.sh TSIM. 'make docs-hardware' writes it anew.
set -u
tsim=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1
tables=$(mktemp)
trap 'rm -f "$tables"' EXIT
tools/hardware_tables.sh "$tsim" >"$tables" || exit 1

. tests/support/expect.sh

is_current() {
    awk '/^<!-- \/tables -->/ { inside = 0 } inside { print } /^<!-- tables -->/ { inside = 1 }' docs/hardware.md |
        diff - "$tables"
}

# Every file of the catalogue has its row, so that a script that prints nothing is noticed.
is_listed() {
    local file name
    for file in hardware/accelerators/*.yaml hardware/nodes/*.yaml hardware/fabrics/*.yaml; do
        name=${file##*/}
        grep -q "^| ${name%.yaml} |" "$tables" || { echo "$file has no row"; return 1; }
    done
}

expect 'docs/hardware.md is not what the catalogue says: make docs-hardware' is_current
expect 'a file of the catalogue is missing from the tables' is_listed
expect 'docs/examples/abacus-2030.yaml is longer than the twenty lines that docs/hardware.md promises' \
    test "$(wc -l <docs/examples/abacus-2030.yaml)" -le 20
told
