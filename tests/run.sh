#!/usr/bin/env bash
# Runs every test of the normal tier: tests/run.sh BUILD_FOLDER TSIM [code|long]. Prints a line per test as it ends, which ones
# took the processor longest, and 'N passed, M failed' at the end.
# With `code` those alone that another compiler or a sanitizer can make a difference to: nothing about texts, pages, installing.
# With `long` those alone of which the normal tier runs a part, whole: `make check` does.
# TSIM_TEST_JOBS=N: so many tests at a time (one more than there are processors, as some of them wait).
# TSIM_TEST_SLOWNESS=N: each test may take N times as long (programs that count their branches do).
set -u
build=$1 tsim=$2 part=${3:-all}
unset COLUMNS # a width that tests do not expect
# AddressSanitizer refuses what no machine has like malloc, which tests ask for.
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1}
cd "$(dirname "$0")/.." || exit 1
jobs=${TSIM_TEST_JOBS:-$(($(nproc) + 1))}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

scripts=(cli/run.sh serve/run.sh golden/run.sh imports/run.sh textbook_docs.sh catalogue_ids.sh faults/situations.sh accuracy.sh)
[ "$part" = code ] || scripts+=(layers.sh circles.py widths.sh data.sh docs.sh reference_keys.sh hardware_docs.sh faults/run.sh
  install.sh python/run.sh setup_packages.sh browser/run.sh)
of_tools=(gate.sh make.sh runner.sh) # tests of what tests and builds, for `long` alone
# The longest ones start first, so that the end is not one of them alone; the server's waits for slow clients.
longest=(serve/run.sh cli/run.sh docs.sh accuracy.sh faults/situations.sh faults/run.sh property/test_every_key widths.sh
  property/test_plan_random property/test_advice_kept install.sh unit/test_chakra layers.sh)

names() {
  local program
  if [ "$part" = long ]; then
    printf '%s\n' "${of_tools[@]}" cli/run.sh accuracy.sh data.sh install.sh layers.sh serve/run.sh widths.sh property/test_{advice_kept,catalogue_random,decision_random,every_key,input_random,launch_files,laws_random,network_random,periods_random,plan_random,plan_uncached,proposals,step_random,ways_random} unit/test_{balance,chakra,cost_terms,hf_config,import_recipes,plan_space,scenario,schedule_zero_bubble,shared_links,spares,trace}
    return
  fi
  printf '%s\n' "${scripts[@]}"
  for program in "$build"/tests/unit/test_* "$build"/tests/property/test_* "$build"/tests/fuzz/replay_*; do
    case $program in *.o | *.d | *.gc?? | *'*') continue ;; esac
    program=${program#"$build"/tests/}
    [[ $program == fuzz/* ]] || [ -f "tests/$program.c" ] || continue # its test has another name now
    echo "$program"
  done
}
# shellcheck disable=SC2046 # the seeds are a list of files
command_of() { # NAME: runs it
  case $1 in
  unit/* | property/*) "$build/tests/$1" ;;
  fuzz/*) "$build/tests/$1" $(bash tests/fuzz/seeds.sh "${1#fuzz/replay_}") ;;
  circles.py) tests/circles.py "$build" ;;
  accuracy.sh | data.sh | install.sh | layers.sh | serve/run.sh | widths.sh) bash "tests/$1" "$tsim" "$part" ;;
  cli/run.sh) if [ "$part" = long ]; then bash tests/cli/run.sh "$tsim" --long; else bash tests/cli/run.sh "$tsim"; fi ;;
  gate.sh) bash tests/gate.sh "$build" ;;
  *) bash "tests/$1" "$tsim" ;;
  esac
}
# Shows in one piece what a test prints, however many run.
one() { # NAME
  local log=$work/${1//\//-} ended=FAIL TIMEFORMAT='%U %S'
  { time command_of "$1" >"$log" 2>&1 && ended=ok; } 2>"$log.s"
  {
    flock 9
    echo "$1" >>"$work/$ended"
    echo "$1 $(<"$log.s")" >>"$work/seconds"
    if [ "$ended" = ok ]; then
      printf 'ok    %s  %s\n' "$1" "$(grep -E '^[0-9]+%: Checks|passed, [0-9]+ failed' "$log" | tail -n 1)"
    else
      printf 'FAIL  %s\n' "$1"
      tail -n 60 "$log" | sed 's/^/      /'
    fi
  } 9>"$work/lock"
}
export -f one command_of
export build tsim work part
export CK_VERBOSITY=normal CK_DEFAULT_TIMEOUT=60 CK_TIMEOUT_MULTIPLIER="${TSIM_TEST_SLOWNESS:-1}"
[ "$part" != long ] || export TSIM_CASES=2000 CK_DEFAULT_TIMEOUT=600

mapfile -t all < <(names)
mapfile -t ordered < <({
  printf '%s\n' "${longest[@]}" | grep -xFf <(printf '%s\n' "${all[@]}")
  printf '%s\n' "${all[@]}" | grep -vxFf <(printf '%s\n' "${longest[@]}")
})
touch "$work/ok" "$work/FAIL"
printf '%s\n' "${ordered[@]}" | xargs -P "$jobs" -I{} bash -uc 'one "$1"' _ {}
printf '%s\n' "${all[@]}" | grep -vxF -f "$work/ok" -f "$work/FAIL" | sed 's/^/FAIL  /; s/$/: was killed, or never began/'
awk '{s = $2 + $3; all += s; printf "%6.1f %s\n", s, $1} END {printf "%6.1f in all\n", all}' "$work/seconds" | sort -rn | head -n 11 |
  awk '{printf "%s%s %s", NR == 1 ? "processor seconds: " : ", ", $2 == "in" ? "in all" : $2, $1} END {print ""}'
passed=$(wc -l <"$work/ok")
failed=$((${#all[@]} - passed))
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
