#!/usr/bin/env bash
# tests/reference_keys.sh - every key that a table of sim/config reads is in docs/reference.md. Keys are taken from the
# sources: the name in `.key = "name"`, the first text in a macro as NODE_QUANTITY("name" or INTEGER(struct x, "name", and
# the first word in ENTRY_INT(name, and its kin. value, source and status of a sourced value are told at the page's head.
set -u
cd "$(dirname "$0")/.." || exit 1

in_sources() {
    find sim/config -name "*.c" -exec cat {} + | sed 's,^#define.*,,' |
        grep -oE '\.key = "[a-z0-9_-]+"|\b[A-Z]+(_[A-Z]+)*\((struct [a-z_]+, )?"[a-z][a-z0-9_-]*"|\b[A-Z]+_(INT|BOOL|INT_KEY)\([a-z][a-z0-9_]*,' |
        grep -vE '^(TSIM|OVERLAP_NAME)' | sed -E 's/.*[("]([a-z][a-z0-9_-]*)[",].*/\1/; s/"$//' |
        grep -vxE 'name_|value|status' | sort -u
}

in_reference() {
    grep -oE '^\| `[A-Za-z0-9_.-]+`' docs/reference.md | sed -E 's/.*[`.]([A-Za-z0-9_-]+)`/\1/' | sort -u
}

n=$(in_sources | wc -l)
missing=$(comm -23 <(in_sources) <(in_reference) | tr '\n' ' ')
if [ -n "$missing" ] || [ "$n" -lt 250 ]; then
    echo "FAIL docs/reference.md lacks (of $n keys): $missing"
    echo "0 passed, 1 failed"
    exit 1
fi
echo "1 passed, 0 failed"
