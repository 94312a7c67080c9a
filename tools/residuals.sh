#!/usr/bin/env bash
# Residuals of the published runs, doubtful rows left out: tools/residuals.sh TSIM prints them as CSV.
#   --check [FILE...]  against the committed table, or its rows of these scenarios: what moved by more than half a point, sources that got worse
#   --write        writes the table, unless a source's mean error got worse by more than half a point
#   --write-worse  writes it all the same
# The table's intervals are of intervals.csv, which both ways of writing fit first (tsim calibrate intervals); held-intervals.csv says what they hold.
# --memory prints that of the measured memories, doubtful times or not; both ways of writing write its table, too, and that
# of the runs that are compared and not scored (compared.py).
# Moved means |measured / predicted| by more than 0.005; the mean error is that of predicted / measured - 1.
set -eu
tsim=$1 table=hardware/calibration/residuals.csv
cd "$(dirname "$0")/.."

files=("${@:3}")
[ $# -gt 2 ] || files=(scenarios/published/*.yaml)

# Rows where validate has none (not simulated) are absent here, too.
residuals() {
  "$tsim" validate "${files[@]}" --residuals 2>/dev/null
}

# The committed table, or its rows of the files.
committed() {
  [ $# -gt 2 ] || exec cat "$table"
  printf '%s\n' "${files[@]##*/}" | sed 's/\.yaml$//' | awk -F, 'FNR == NR {asked[$1] = 1; next} FNR == 1 || $1 in asked' - "$table"
}

memory() {
  # shellcheck disable=SC2046 # the list is of files
  "$tsim" validate $(grep -lE '^ +memory_' scenarios/published/*.yaml) --csv 2>/dev/null |
    awk -F, -v OFS=, 'NR == 1 || ($3 ~ /^memory_/ && $7 == "ok") {print $1, $3, $4, $5, $6}'
}

# COMMITTED NEW -> each case that moved; exit 1 when a source got worse, 2 when cases came, went or moved otherwise.
compare() {
  awk -F, '
    function size(x) {return x < 0 ? -x : x}
    FNR == 1 {file++; next}
    {error[file, $1] = 1 / $15 - 1; ratio[file, $1] = $15; source[$1] = $2; sum[file, $2] += size(1 / $15 - 1); n[file, $2]++}
    END {
      for (c in source) {
        old = (1, c) in ratio; new = (2, c) in ratio
        if (!old || !new) {print "case " c (new ? " is new" : " is not scored any more"); stale = 1; continue}
        if (size(ratio[1, c] - ratio[2, c]) > 0.005) {
          moved[source[c]] = moved[source[c]] sprintf("  %s: error %+.1f %% was %+.1f %%\n", c, 100 * error[2, c], 100 * error[1, c])
          stale = 1
        }
        all[source[c]] = 1
      }
      for (s in all) {
        if (!n[1, s] || !n[2, s]) continue
        old = 100 * sum[1, s] / n[1, s]; new = 100 * sum[2, s] / n[2, s]
        if (new > old + 0.5) {worse = 1; printf "source %s got worse: mean error %.1f %%, was %.1f %%\n", s, new, old}
        else if (s in moved) printf "source %s: mean error %.1f %%, was %.1f %%\n", s, new, old
        printf "%s", moved[s]
      }
      exit worse ? 1 : stale ? 2 : 0
    }' "$1" "$2"
}

if [ "${2-}" = --memory ]; then
  memory
  exit
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT
residuals >"$new"
case ${2-} in
--check) compare <(committed "$@") "$new" ;;
--write | --write-worse)
  if [ -f "$table" ]; then
    status=0
    compare "$table" "$new" || status=$?
    if [ "$status" = 1 ] && [ "$2" = --write ]; then
      echo "$table is not written: make residuals WORSE=1 takes it all the same" >&2
      exit 1
    fi
  fi
  mkdir -p "$(dirname "$table")"
  cat "$new" >"$table"
  "$tsim" calibrate intervals "$table" "${table%/*}/blind-residuals.csv" "${table%/*}/intervals.csv" --csv |
    grep '^held,' >"${table%/*}/held-intervals.csv"
  residuals >"$table" # with the new intervals
  memory >"${table%/*}/memory.csv"
  # beside it, as intervals of rounds rest on the table that it takes the place of
  tools/compared.py "$tsim" >"${table%/*}/compared.csv.new" && mv "${table%/*}/compared.csv.new" "${table%/*}/compared.csv"
  ;;
*) cat "$new" ;;
esac
