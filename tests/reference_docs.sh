#!/usr/bin/env bash
# docs/reference.md lists every key that this build reads: tests/reference_docs.sh TSIM. 'make docs-reference' writes it anew.
set -u
tsim=$(realpath "$1")
cd "$(dirname "$0")/.." || exit 1
if "$tsim" help --format reference | diff - docs/reference.md; then
  echo "1 passed, 0 failed"
else
  echo 'FAIL docs/reference.md is not what the schema tables say: make docs-reference'
  echo "0 passed, 1 failed"
  exit 1
fi
