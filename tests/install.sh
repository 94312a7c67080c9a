#!/usr/bin/env bash
# tests/install.sh TSIM - make install, with and without DESTDIR, and the Debian package: what is installed runs away from
# the source tree and reads its own catalogue. Runs with the program of the release build alone.
set -u
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

expect 'make install' make -s install PREFIX="$work/prefix"
expect 'installed: runs' runs "$work/prefix"
expect 'installed: does not know the source tree' no_source_tree "$work/prefix/bin/tsim"
expect 'manual pages' pages "$work/prefix/share/man/man1"
expect 'bash: syntax' bash -n "$work/prefix/share/bash-completion/completions/tsim"
if command -v zsh >/dev/null; then expect 'zsh: syntax' zsh -n "$work/prefix/share/zsh/site-functions/_tsim"; fi
expect 'make uninstall' make -s uninstall PREFIX="$work/prefix"
expect 'nothing is left' test -z "$(find "$work/prefix" -type f)"
expect 'make install, DESTDIR' make -s install PREFIX=/opt/tsim DESTDIR="$work/stage"
expect 'below DESTDIR: runs where it is' runs "$work/stage/opt/tsim"
mv "$work/stage/opt/tsim" "$work/moved"
expect 'moved: runs' runs "$work/moved"

# What is offered for a line that is being typed: complete WORD... (the last one is unfinished).
complete_with_bash() {
  bash -c 'PATH=$1:$PATH; source "$2"; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tsim; printf "%s " "${COMPREPLY[@]}"' \
    _ "$work/moved/bin" "$work/moved/share/bash-completion/completions/tsim" "$@"
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
expect 'bash: ids of the catalogue' offers 'model/only-here ' tsim show model/only
expect 'bash: kinds' offers 'nodes ' tsim list no
expect 'bash: files are left to the shell' offers ' ' tsim run sc

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
  expect 'make deb' make -s deb
  package=$(echo build/tsim_*_"$(dpkg --print-architecture)".deb)
  expect 'unpacks' dpkg-deb -x "$package" "$work/unpacked"
  expect 'unpacked: runs' runs "$work/unpacked/usr"
  expect 'depends on libraries' grep -q libgsl <(dpkg-deb -f "$package" Depends)
  cp "$package" "$work/first.deb"
  expect 'make deb again' make -s deb
  expect 'the same package again' cmp "$package" "$work/first.deb"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
