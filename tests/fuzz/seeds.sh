#!/usr/bin/env bash
# tests/fuzz/seeds.sh TARGET - the files that a target begins with and that `make test` gives it: what it once stumbled over
# (tests/fuzz/corpus/TARGET), and files of this project of its kind.
set -u
cd "$(dirname "$0")/../.." || exit 1
shopt -s nullglob
files=(tests/fuzz/corpus/"$1"/*)
case $1 in
scenario) files+=(scenarios/*.yaml scenarios/*/[a-f]*.yaml tests/cli/*/*.yaml) ;;
catalogue) files+=(models/*/*.yaml hardware/*/*.yaml) ;;
chakra) files+=(docs/examples/*.et) ;;
import) files+=(docs/examples/*.json docs/examples/{axolotl,llamafactory,nanotron,maxtext,primus}*.yaml tests/data/import/* tests/cli/import*/*.* docs/examples/*.et) ;;
measured) files+=(docs/examples/*.csv docs/examples/nccl-tests* tests/data/nccl-tests/* hardware/calibration/*kernels.csv) ;;
esac
[ ${#files[@]} -eq 0 ] || ls -d "${files[@]}"
