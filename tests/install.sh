#!/usr/bin/env bash
# tests/install.sh TSIM [long] - make install: what is installed runs away from the source tree and reads its own catalogue,
# and make uninstall leaves nothing. Without `long` the program is linked without optimizing it as a whole, which takes seconds;
# with it as `make install` does, and also with DESTDIR and as a Debian package. Runs with the program of the release build alone.
set -u
part=${2:-}
cd "$(dirname "$0")/.." || exit 1
[ "$(realpath "$1")" = "$(realpath build/tsim)" ] || {
    echo "skipped: not build/tsim"
    exit 0
}
unset TSIM_DATA MAKEFLAGS MAKELEVEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
expect() { # WHAT COMMAND...
  if "${@:2}" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $1"
    tail -n 5 "$work/log"
  fi
}
# A model that no other catalogue has shows which one is read.
mark() { sed 's/^name: gpt2-small$/name: only-here/' models/architectures/gpt2-small.yaml >"$1/share/tsim/models/architectures/only-here.yaml"; }
runs() { # FOLDER: the program there, in an empty folder, on the catalogue there
  mark "$1"
  mkdir -p "$work/empty"
  (cd "$work/empty" && "$1/bin/tsim" show model/only-here --csv && "$1/bin/tsim" run "$1/share/tsim/scenarios/llama70b.yaml" --no-db) |
    grep -q 'tokens/s'
}
pages() { # FOLDER: each command has a page that names its options, without complaints of man
  local command
  for command in $(build/tsim help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\).*/\1/p'); do
    [ -s "$1/tsim-$command.1" ] || return 1
    command -v man >/dev/null || continue
    LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings=w -l "$1/tsim-$command.1" >"$work/page" 2>"$work/warnings" && [ ! -s "$work/warnings" ] || return 1
    grep -q -- '--help' "$work/page" || return 1
  done
}
no_source_tree() { ! strings "$1" | grep -qF "$PWD/hardware"; }

expect 'make install' make -s install PREFIX="$work/prefix" INSTALLED="$work/built"
expect 'installed: runs' runs "$work/prefix"
expect 'installed: does not know the source tree' no_source_tree "$work/prefix/bin/tsim"
expect 'manual pages' pages "$work/prefix/share/man/man1"
expect 'bash: syntax' bash -n "$work/prefix/share/bash-completion/completions/tsim"
if command -v zsh >/dev/null; then expect 'zsh: syntax' zsh -n "$work/prefix/share/zsh/site-functions/_tsim"; fi

# The library: the documented example, compiled against what is installed, says what the program says.
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
compile_example() { # LIBRARY FLAG...: that of the two libraries
  # shellcheck disable=SC2046 # flags are words
  "${CC:-gcc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$work/library" docs/examples/library.c \
    $(pkg-config --cflags --libs "${@:2}" tsim | sed "s/-ltsim/-l:$1/") -Wl,-rpath,"$work/prefix/lib"
}
example_agrees() {
  local said
  (cd "$work" && ./library "$work/prefix/share/tsim/scenarios/llama70b.yaml") >"$work/said" || return 1
  said=$("$work/prefix/bin/tsim" run scenarios/llama70b.yaml --no-db --quiet --json |
    awk -F'[:,}]' '/"step":/ {t = $3} /"throughput":/ {r = $3; for (i = 1; i < NF; i++) if ($i ~ /"mfu"/) m = $(i + 1)} /"memory":/ {for (i = 1; i < NF; i++) if ($i ~ /"peak_bytes"/) b = $(i + 1)}
      END {printf "step %.3f s, %.0f tokens/s, MFU %.1f %%, memory %.1f GB", t, r, 100 * m, b / 1e9}')
  grep -qF "$said" "$work/said" || { echo "the program: $said"; cat "$work/said"; return 1; }
  [ "$(grep -c 'MFU' "$work/said")" = 7 ] && grep -q '^best: ' "$work/said"
}
only_ours() { # NM-OPTION FILE
  local seen
  seen=$(nm "$1" --defined-only "$work/prefix/lib/$2" | awk 'NF == 3 {print $3}')
  grep -qx tsim_job_run <<<"$seen" && ! grep -v '^tsim_job_' <<<"$seen"
}
# The package for Python finds the library beside it; it is installed for people, and no file of it is left behind.
package_agrees() {
  command -v python3 >/dev/null || return 0
  (cd "$work/empty" && env -u TSIM_LIBRARY PYTHONPATH="$work/prefix/lib/python3/dist-packages" python3 -c '
import sys, tsim
print(tsim.run(sys.argv[1])["step"]["time_s"], tsim.__file__)' "$work/prefix/share/tsim/scenarios/llama70b.yaml") >"$work/said" &&
    grep -qF "$("$work/prefix/bin/tsim" run scenarios/llama70b.yaml --no-db --quiet --json | sed -n 's/.*"step": {"time_s": \([^,]*\),.*/\1/p') $work/prefix/" "$work/said"
}
for library in libtsim.so libtsim.a; do
  static=(--static)
  [ $library = libtsim.a ] || static=()
  expect "$library: the example compiles" compile_example $library "${static[@]}"
  expect "$library: the example agrees with the program" example_agrees
done
expect 'libtsim.a: exports nothing else' only_ours -g libtsim.a
expect 'libtsim.so: exports nothing else' only_ours -D libtsim.so
expect 'package for Python: agrees with the program' package_agrees
if command -v g++ >/dev/null; then expect 'library: tsim.h in C++' g++ -Wall -Wextra -Werror -fsyntax-only -x c++ "$work/prefix/include/tsim.h"; fi

# Prints what is offered for a line that is being typed: complete WORD... (the last one is unfinished).
complete_with_bash() {
  bash -c 'PATH=$1:$PATH; source "$2"; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tsim; printf "%s " "${COMPREPLY[@]}"' \
    _ "$work/prefix/bin" "$work/prefix/share/bash-completion/completions/tsim" "$@"
}
offers() { # EXPECTED WORD...
  local expected=$1 offered
  shift
  offered=$(complete_with_bash "$@")
  [ "$offered" = "$expected" ] || { echo "offered '$offered', expected '$expected'"; false; }
}
expect 'bash: commands' offers 'compare collective ' tsim co
expect 'bash: options' offers '--trace --trace-ranks ' tsim run x.yaml --tr
expect 'bash: words of an option' offers 'ring ' tsim collective x.yaml --algorithm r
expect 'bash: words after =' offers 'ring ' tsim collective x.yaml --algorithm = r
expect 'bash: keys of a scenario' offers 'parallelism.tensor= ' tsim run x.yaml --set parallelism.te
expect 'bash: ids of the catalogue' offers 'model/only-here ' tsim show model/only
expect 'bash: kinds' offers 'nodes ' tsim list no
expect 'bash: files are left to the shell' offers ' ' tsim run sc

expect 'make uninstall' make -s uninstall PREFIX="$work/prefix"
expect 'nothing is left' test -z "$(find "$work/prefix" -type f -o -type l)"

packaged() { # with DESTDIR, elsewhere than it was put, and as a package
  local package built=build/release/installed
  expect 'make install, DESTDIR' make -s install PREFIX=/opt/tsim DESTDIR="$work/stage"
  expect 'below DESTDIR: runs where it is' runs "$work/stage/opt/tsim"
  expect 'below DESTDIR: knows its prefix' grep -qa /opt/tsim/share/tsim/hardware "$work/stage/opt/tsim/bin/tsim"
  touch "$work/before"
  expect 'make install again' make -s install PREFIX=/opt/tsim DESTDIR="$work/again"
  expect 'links nothing' test "$built/tsim" -ot "$work/before"
  mv "$work/stage/opt/tsim" "$work/moved"
  expect 'moved: runs' runs "$work/moved"
  command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || return
  expect 'make deb' make -s deb
  package=$(echo build/tsim_*_"$(dpkg --print-architecture)".deb)
  expect 'unpacks' dpkg-deb -x "$package" "$work/unpacked"
  expect 'unpacked: knows its prefix' grep -qa /usr/share/tsim/hardware "$work/unpacked/usr/bin/tsim"
  expect 'unpacked: runs' runs "$work/unpacked/usr"
  expect 'depends on libraries' grep -q libgsl <(dpkg-deb -f "$package" Depends)
  cp "$package" "$work/first.deb"
  rm -r "$built" # made anew
  expect 'make deb again' make -s deb
  expect 'the same package again' cmp "$package" "$work/first.deb"
}
[ "$part" != long ] || packaged
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
