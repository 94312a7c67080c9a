#!/usr/bin/env bash
# tests/imports/run.sh TSIM [WORD] - launch files of public repositories through `tsim import`, where a folder has them.
#
# corpus.csv says of each file its repository, commit and path, what the command needs besides, whether tsim reads it or
# refuses it with a reason, and what reading it by eye gives: empty where the file does not say it. The files themselves
# are other people's and not here: TSIM_IMPORT_CORPUS=FOLDER names a folder that has them as FOLDER/OWNER/NAME/COMMIT/PATH
# (https://raw.githubusercontent.com/ has this order, too). A file that is not there is passed over, and all are without
# TSIM_IMPORT_CORPUS. WORD: lines that have it alone. One line per difference, then 'N passed, M failed, K passed over'.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tsim=${1:-$here/../../build/tsim}
word=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 over=0

value() { # KEY: what the scenario has under it
  sed -n "s/^ *$1: *\([^ #]*\).*/\1/p" "$work/out.yaml" | head -n 1
}
of_model() { # KEY: where the scenario names a model, or extends one
  local id own
  id=$(sed -n 's/^model: *\([^ #][^ #]*\).*/\1/p' "$work/out.yaml")
  own=$(value "$1")
  [ -n "$id" ] || id=$(sed -n '/^model:/,/^[a-z]*:/s/^  extends: *\([^ #]*\).*/\1/p' "$work/out.yaml" | head -n 1)
  if [ -z "$own" ] && [ -n "$id" ]; then
    "$tsim" show "model/$id" 2>/dev/null | awk -v key="$1" '$1 == key { print $2 }'
  else
    echo "$own"
  fi
}
accelerators() {
  local each
  each=$(value accelerators_per_node)
  if [ -z "$each" ]; then
    each=$("$tsim" show "node/$(value node)" 2>/dev/null | awk '$1 == "accelerators" { print $2 }')
  fi
  echo $(($(value nodes) * each))
}

while IFS=, read -r format repository commit path options outcome layers hidden tensor pipeline context expert micro batch sequence gpus zero; do
  [ "$format" != format ] || continue
  line="$format $repository $commit $path"
  case $line in *"$word"*) ;; *) continue ;; esac
  file=${TSIM_IMPORT_CORPUS:-}/$repository/$commit/$path
  if [ -z "${TSIM_IMPORT_CORPUS:-}" ] || [ ! -f "$file" ]; then
    over=$((over + 1))
    continue
  fi
  # shellcheck disable=SC2086 # options are words
  "$tsim" import "$format" "$file" --quiet $options >"$work/out.yaml" 2>"$work/err"
  status=$? wrong=
  if [ "$outcome" = refused ]; then
    [ "$status" -eq 3 ] || wrong=" exit status $status, not 3;"
  elif [ "$status" -ne 0 ]; then
    wrong=" exit status $status: $(grep -m 1 error "$work/err");"
  else
    while read -r name want got; do
      [ -z "$got" ] || [ "$want" = "$got" ] || wrong="$wrong $name $got, not $want;"
      [ -n "$got" ] || [ "$want" = 1 ] || wrong="$wrong no $name;"
    done < <(
      [ -z "$layers" ] || echo layers "$layers" "$(of_model layers)"
      [ -z "$hidden" ] || echo hidden "$hidden" "$(of_model hidden)"
      [ -z "$tensor" ] || echo tensor "$tensor" "$(value tensor)"
      [ -z "$pipeline" ] || echo pipeline "$pipeline" "$(value pipeline)"
      [ -z "$context" ] || echo context "$context" "$(value context)"
      [ -z "$expert" ] || echo expert "$expert" "$(value expert)"
      [ -z "$micro" ] || echo micro_batch_size "$micro" "$(value micro_batch_size)"
      [ -z "$batch" ] || echo global_batch_size "$batch" "$(value global_batch_size)"
      [ -z "$sequence" ] || echo sequence_length "$sequence" "$(value sequence_length)"
      [ -z "$gpus" ] || echo accelerators "$gpus" "$(accelerators)"
      [ -z "$zero" ] || echo zero "$zero" "$(value zero)"
    )
  fi
  if [ -z "$wrong" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$line:$wrong"
  fi
done <"$here/corpus.csv"

echo "$passed passed, $failed failed, $over passed over"
[ "$failed" -eq 0 ]
