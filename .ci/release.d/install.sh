#!/bin/sh
# Installs podfs below PREFIX (/usr/local by default), in the folder DESTDIR if it is set (for packagers).
set -eu
cd "$(dirname "$0")"
prefix=${PREFIX:-/usr/local}
fail() { echo "install.sh: $*" >&2; exit 1; }
case $prefix in /*) ;; *) fail "PREFIX must be an absolute path, but is '$prefix'" ;; esac

if [ -z "${DESTDIR:-}" ]; then
    found=$(ldd tree/bin/podfs 2>&1) || true
    case $found in *"version \`GLIBC_"*) fail "podfs needs glibc @GLIBC@ or newer; this system has an older one" ;; esac
    missing=$(printf '%s\n' "$found" | sed -n 's/^[[:space:]]*\([^ ]*\) => not found$/\1/p' | sort -u | tr '\n' ' ')
    [ -z "$missing" ] || fail "install the packages with these libraries first: $missing"
    tree/bin/podfs --version > /dev/null || fail "podfs does not run on this system"
fi

while read -r file; do
    target=${DESTDIR:-}$prefix/$file
    mkdir -p "$(dirname "$target")" || fail "cannot write to ${DESTDIR:-}$prefix: run as root, or set PREFIX=\$HOME/.local"
    case $file in
        lib/systemd/*) sed "s|/usr/bin/podfs|$prefix/bin/podfs|g" "tree/$file" > "$target" ;;
        *) cp -Pf "tree/$file" "$target" ;;
    esac
done < files
echo "installed podfs $(tree/bin/podfs --version 2> /dev/null | head -n 1) below ${DESTDIR:-}$prefix; remove it with ./uninstall.sh"

[ -z "${DESTDIR:-}" ] || exit 0
command -v fusermount3 > /dev/null || echo "missing: fusermount3, which mounts; install the package fuse3"
[ -e /dev/fuse ] || echo "missing: /dev/fuse; load the kernel module: modprobe fuse"
[ -d /run/systemd/system ] || echo "no systemd here: podfs starts its daemon itself; 'podfs service' is not available"
case :$PATH: in *":$prefix/bin:"*) ;; *) echo "missing: $prefix/bin in PATH" ;; esac
