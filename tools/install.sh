#!/bin/sh
# install.sh TSIM FOLDER - the program, its catalogue, manual pages and shell completions below FOLDER (DESTDIR and PREFIX).
# install.sh --remove FOLDER - takes away what that puts there, and nothing else.
set -eu
tsim=$1 to=$2
share=$to/share
catalogue=$share/tsim doc=$share/doc/tsim man=$share/man/man1
bash=$share/bash-completion/completions/tsim zsh=$share/zsh/site-functions/_tsim

if [ "$tsim" = --remove ]; then
    rm -f "$to/bin/tsim" "$man/tsim.1" "$man"/tsim-*.1 "$bash" "$zsh"
    rm -rf "$catalogue" "$doc"
    exit 0
fi

cd "$(dirname "$0")/.."
install -D -m 755 "$tsim" "$to/bin/tsim"
rm -rf "$catalogue" # what an older version had does not stay
mkdir -p "$catalogue" "$doc" "$man" "$(dirname "$bash")" "$(dirname "$zsh")"
cp -R models hardware scenarios "$catalogue/"
cp -R README.md CHANGELOG.md LICENSE docs/*.md docs/*.svg docs/examples "$doc/"
"$tsim" help --format bash >"$bash"
"$tsim" help --format zsh >"$zsh"
"$tsim" help --format man >"$man/tsim.1"
for command in $("$tsim" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\).*/\1/p'); do
    "$tsim" help "$command" --format man >"$man/tsim-$command.1"
done
chmod -R u=rwX,go=rX "$catalogue" "$doc" "$man" "$bash" "$zsh"
