#!/usr/bin/env bash
# Runs a command in a clone of this commit on a bare Debian, as a user without rights and without Node:
#   scripts/on_debian.sh SUITE COMMAND...    for example: scripts/on_debian.sh stable make test
# The system has what `apt install python3 python3-venv make git` brings. It is made once and kept in ORC_DEBIAN
# (default: ~/.cache/orc-debian); the clone and the home folder are new each time. Needs root and debootstrap.
set -euo pipefail

suite=$1
shift
root=${ORC_DEBIAN:-$HOME/.cache/orc-debian}/$suite
source=$(git rev-parse --show-toplevel)

if ! test -e "$root/made"; then
  # A copy of the script for unstable makes suites that are newer than this debootstrap.
  test -e "/usr/share/debootstrap/scripts/$suite" || newer=/usr/share/debootstrap/scripts/sid
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase --include=python3,python3-venv,make,git,ca-certificates \
    "$suite" "$root" http://deb.debian.org/debian ${newer:-} >"$root.log" 2>&1 || { tail "$root.log" >&2; exit 1; }
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
  chroot "$root" useradd --home-dir /srv/orc orc
  touch "$root/made"
fi

# The machine's own list of authorities: it may stand behind a proxy.
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
home=$root/srv/orc
rm -rf "$home"
mkdir -p "$home/work"
git clone --quiet "$source" "$home/work/orc"
chroot "$root" chown -R orc:orc /srv/orc

inside() {
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  if test -d "$source/../shared"; then
    mkdir "$home/work/shared"
    mount --bind -o ro "$source/../shared" "$home/work/shared"
  fi
  exec chroot --userspec=orc:orc "$root" /usr/bin/env -i HOME=/srv/orc PATH=/usr/bin:/bin LANG=C.UTF-8 \
    /bin/sh -c 'cd ~/work/orc && exec "$@"' sh "$@"
}
export -f inside
export root home source
exec unshare --mount bash -euc 'inside "$@"' bash "$@"
