#!/usr/bin/env bash
# The accuracy table of README.md: every scenario of scenarios/published, by source (the first word of its name).
# tools/accuracy_table.sh TSIM prints it; with --write it replaces the one in README.md.
set -eu
tsim=$1
cd "$(dirname "$0")/.."

# Columns of validate --csv: name, file, metric, measured, predicted, error, status. Errors of rates are turned into
# errors of time, so that a plus is always "predicted too slow".
by_source() {
  "$tsim" validate scenarios/published/*.yaml --csv 2>/dev/null | awk -F, '
    NR == 1 {next}
    {split($1, word, "-"); source = word[1]}
    $7 != "ok" {missing[source]++; next}
    $3 ~ /^memory_/ {next}
    {
      error = $3 ~ /_per_s|mfu|hfu|tflops/ ? 1 / (1 + $6) - 1 : $6
      printf "%s %.17g %.17g\n", source, error < 0 ? -error : error, error
    }
    END {for (s in missing) printf "%s - %d\n", s, missing[s]}' | sort -k1,1 -k2,2g
}

table() {
  echo 'Without the rows that are marked doubtful in their files:'
  tools/accuracy_docs.sh --headline
  printf '\nWith them, by source:\n\n'
  echo '| source | runs | mean error | median | worst | bias | not scored |'
  echo '| --- | --- | --- | --- | --- | --- | --- |'
  by_source | awk '
    function row(name, n, sum, list, worst, bias, missing,   median) {
      median = n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
      printf "| %s | %d | %.1f %% | %.1f %% | %.1f %% | %+.1f %% | %d |\n", name, n, 100 * sum / n, 100 * median,
        100 * worst, 100 * bias / n, missing
    }
    function flush() {
      if (n) row(source, n, sum, list, list[n], bias, missing)
      n = sum = bias = missing = 0
    }
    $1 != source {flush(); source = $1}
    $2 == "-" {missing = $3; all_missing += $3; next}
    {list[++n] = $2; sum += $2; bias += $3; all_n++; all_sum += $2; all_bias += $3}
    END {
      flush()
      printf "| **all** | %d | **%.1f %%** | | | %+.1f %% | %d |\n", all_n, 100 * all_sum / all_n, 100 * all_bias / all_n,
        all_missing
    }'
}

if [ "${2-}" = --write ]; then
  new=$(mktemp)
  table >"$new"
  awk -v new="$new" '/^<!-- accuracy -->/ {print; while ((getline line < new) > 0) print line; skip = 1; next}
                     /^<!-- \/accuracy -->/ {skip = 0} !skip' README.md >README.next
  mv README.next README.md
  rm "$new"
else
  table
fi
