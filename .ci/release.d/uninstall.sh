#!/bin/sh
# Removes what install.sh has installed below PREFIX (/usr/local by default). Subscriptions and media stay.
set -eu
cd "$(dirname "$0")"
root=${DESTDIR:-}${PREFIX:-/usr/local}
while read -r file; do rm -f "$root/$file"; done < files
rmdir "$root/share/podfs/mpv" "$root/share/podfs" 2> /dev/null || true
echo "removed podfs from $root; ~/.local/share/podfs and ~/.cache/podfs stay"
