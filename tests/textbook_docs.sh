#!/usr/bin/env bash
# docs/textbook.md is what this build computes: tests/textbook_docs.sh TSIM. 'make docs-textbook' writes it anew.
set -u
tsim=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1

. tests/support/expect.sh

is_current() {
    "$tsim" textbook --markdown | diff docs/textbook.md -
}

# Every scenario of the folder is used by an example, or extended by one that is.
is_used() {
    local file name page
    page=$(cat docs/textbook.md)
    for file in scenarios/textbook/*.yaml; do
        name=$(basename "$file" .yaml)
        [[ $page == *"[$name]"* || $page == *"[$name "* ]] || grep -q "^extends: $name.yaml" scenarios/textbook/*.yaml ||
            { echo "no example uses $file"; return 1; }
    done
}

expect 'docs/textbook.md is not what this build computes: make docs-textbook, and read the difference' is_current
expect 'a scenario of scenarios/textbook belongs to no example' is_used
told
