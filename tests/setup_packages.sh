#!/usr/bin/env bash
# tools/setup.sh with stand-ins for dpkg-query and apt-get: what is missing is installed, what is there is left alone.
set -u
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

cat >"$work/dpkg-query" <<'SH'
#!/bin/sh
echo "libyaml-dev installed"
SH
cat >"$work/apt-get" <<SH
#!/bin/sh
echo "\$*" >>"$work/calls"
if [ -s "$work/locked" ]; then
    sed -i 1d "$work/locked"
    echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)" >&2
    exit 100
fi
case "\$*" in *no-such*) exit 100 ;; esac
SH
chmod +x "$work/dpkg-query" "$work/apt-get"

set_up() { # PACKAGE...: output in $out, calls of apt-get in $work/calls
    : >"$work/calls"
    out=$(PATH="$work/bin:$PATH" TSIM_DPKG_QUERY="$work/dpkg-query" TSIM_APT_GET="$work/apt-get" TSIM_LOCK_PAUSE=0 \
        TSIM_LOCK_WAIT="${wait_s:-600}" sh tools/setup.sh "$@" 2>&1)
}
check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $what: $out; apt-get: $(cat "$work/calls")"; fi
}
called() { grep -q -- "$1" "$work/calls"; }
never_called() { [ ! -s "$work/calls" ]; }

set_up libyaml-dev
check 'what is installed needs nothing' [ "$?/$out" = 0/ ]
check 'and apt-get is not called' never_called
set_up libyaml-dev libgsl-dev
check 'what is missing is named' grep -q 'installing libgsl-dev' <<<"$out"
check 'and installed, alone' called 'install -y --no-install-recommends libgsl-dev$'
mkdir "$work/bin"
for program in npm node; do
    printf '#!/bin/sh\n' >"$work/bin/$program"
    chmod +x "$work/bin/$program"
done
set_up npm nodejs
check 'programs of another origin are enough' never_called
set_up no-such-package
check 'what cannot be installed fails' [ "$?" = 1 ]
check 'by name, after the lists were refreshed' grep -q 'could not install: no-such-package' <<<"$out"
check 'and update was tried' called ' update$'
printf '1\n2\n' >"$work/locked"
set_up libgsl-dev
check 'another apt is waited for' [ "$?" = 0 ]
check 'which is said' grep -q 'another apt or dpkg is running; waiting up to 600 s' <<<"$out"
check 'and dpkg is told how long' grep -qE -- '-o DPkg::Lock::Timeout=[1-9][0-9]* install' "$work/calls"
printf '%s\n' {1..99} >"$work/locked"
wait_s=0 set_up libgsl-dev
check 'a lock that is held for too long fails' [ "$?" = 1 ]
check 'and says what held it up' grep -q 'still holds its lock; run make again' <<<"$out"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
