#!/bin/sh
# deb.sh MAKE - a Debian package at build/tsim_VERSION_ARCHITECTURE.deb. Needs dpkg-dev and binutils (with gcc on Debian).
# The same sources give the same bytes: times are those of the last commit, or SOURCE_DATE_EPOCH; the size is the sum of
# the files' in whole KiB, as dpkg-gencontrol's, because what a file takes on the disk is known only once it is written.
set -eu
cd "$(dirname "$0")/.."
make=$1 root=build/deb
version=$(sed -n 's/.*TSIM_VERSION "\(.*\)"/\1/p' sim/base/version.h)
architecture=$(dpkg --print-architecture)
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH

rm -rf "$root"
mkdir -p "$root/tree/DEBIAN" "$root/debian"
"$make" --no-print-directory install PREFIX=/usr DESTDIR="$PWD/$root/tree"
strip --strip-unneeded "$root/tree/usr/bin/tsim"
strip -g "$root/tree/usr/lib/libtsim.a"
strip --strip-unneeded "$root"/tree/usr/lib/libtsim.so.*
# where Debian looks
mkdir -p "$root/tree/usr/share/zsh/vendor-completions"
mv "$root/tree/usr/share/zsh/site-functions/_tsim" "$root/tree/usr/share/zsh/vendor-completions/"
rmdir "$root/tree/usr/share/zsh/site-functions"
mv "$root/tree/usr/share/doc/tsim/LICENSE" "$root/tree/usr/share/doc/tsim/copyright"
gzip -9n "$root"/tree/usr/share/man/man1/*.1 "$root/tree/usr/share/doc/tsim/CHANGELOG.md"
mv "$root/tree/usr/share/doc/tsim/CHANGELOG.md.gz" "$root/tree/usr/share/doc/tsim/changelog.gz"

printf 'Source: tsim\nPackage: tsim\nArchitecture: any\n' >"$root/debian/control" # dpkg-shlibdeps asks for one
depends=$(cd "$root" && dpkg-shlibdeps -O tree/usr/bin/tsim 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
# 'tsim serve' loads this one itself.
http=$(dpkg -S '*/libmicrohttpd.so.12' | cut -d: -f1 | sort -u)
[ -n "$depends" ] && [ -n "$http" ] || {
    echo "deb.sh: dpkg finds no packages of the libraries" >&2
    exit 1
}
cat >"$root/tree/DEBIAN/control" <<CONTROL
Package: tsim
Version: $version
Architecture: $architecture
Maintainer: tsim <tsim@localhost>
Installed-Size: $(find "$root/tree/usr" -type f -printf '%s\n' | awk '{n += int(($1 + 1023) / 1024)} END {print n}')
Depends: $depends, $http
Section: science
Priority: optional
Description: predicts how a neural network trains on a cluster
 A discrete-event simulator of training on accelerators: step time, throughput,
 pipeline bubbles, exposed communication, memory, power, energy, days and cost,
 with a catalogue of models, accelerators, nodes and fabrics.
CONTROL
(cd "$root/tree" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
find "$root/tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
rm -f build/tsim_*.deb # of other versions
dpkg-deb --root-owner-group --build "$root/tree" "build/tsim_${version}_$architecture.deb"
