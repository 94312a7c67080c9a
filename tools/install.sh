#!/bin/sh
# install.sh BUILT FOLDER PREFIX - the program and the libraries that are in BUILT, with the package for Python, catalogue, manual
# pages and shell completions, below FOLDER (DESTDIR and PREFIX).
# install.sh --remove FOLDER - takes away what that puts there, and nothing else.
set -eu
built=$1 tsim=$1/tsim to=$2 prefix=${3:-}
share=$to/share
catalogue=$share/tsim doc=$share/doc/tsim man=$share/man/man1
python=$to/lib/python3/dist-packages/tsim # where Debian looks with PREFIX=/usr
bash=$share/bash-completion/completions/tsim zsh=$share/zsh/site-functions/_tsim

if [ "$built" = --remove ]; then
    rm -f "$to/bin/tsim" "$to"/lib/libtsim.a "$to"/lib/libtsim.so* "$to/include/tsim.h" "$to/lib/pkgconfig/tsim.pc" "$man/tsim.1" "$man"/tsim-*.1 "$bash" "$zsh"
    rm -rf "$catalogue" "$doc" "$python"
    exit 0
fi

cd "$(dirname "$0")/.."
install -D -m 755 "$tsim" "$to/bin/tsim"
install -D -m 644 "$built/libtsim.a" "$to/lib/libtsim.a"
for library in "$built"/libtsim.so.*; do
    soname=$(basename "$library")
    install -D -m 755 "$library" "$to/lib/$soname"
    ln -sf "$soname" "$to/lib/libtsim.so"
done
rm -rf "$python"
install -D -m 644 -t "$python" tools/python/tsim/*.py
install -D -m 644 sim/library/tsim.h "$to/include/tsim.h"
mkdir -p "$to/lib/pkgconfig"
cat >"$to/lib/pkgconfig/tsim.pc" <<PC
prefix=$prefix
Name: tsim
Description: predicts how a neural network trains on a cluster of accelerators
Version: $(sed -n 's/.*TSIM_VERSION "\(.*\)"/\1/p' sim/base/version.h)
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -ltsim
Requires.private: gsl yaml-0.1 sqlite3 jansson zlib expat libprotobuf-c
Libs.private: -lm -lpthread
PC
rm -rf "$catalogue" # what an older version had does not stay
mkdir -p "$catalogue" "$doc" "$man" "$(dirname "$bash")" "$(dirname "$zsh")"
cp -R models hardware scenarios "$catalogue/"
cp -R README.md CHANGELOG.md LICENSE docs/*.md docs/*.svg docs/examples docs/pictures "$doc/"
"$tsim" help --format bash >"$bash"
"$tsim" help --format zsh >"$zsh"
"$tsim" help --format man >"$man/tsim.1"
for command in $("$tsim" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\).*/\1/p'); do
    "$tsim" help "$command" --format man >"$man/tsim-$command.1"
done
chmod -R u=rwX,go=rX "$catalogue" "$doc" "$man" "$bash" "$zsh"
