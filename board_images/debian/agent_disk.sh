#!/usr/bin/env bash
# The emulated board's card: Debian with the agent's package installed, without key or
# broker yet. Prints the image's path. Kept by what went into it.
#
#   board_images/debian/agent_disk.sh BOARD [--with PACKAGE,…] [--size MIB]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
die() { printf 'agent_disk: %s\n' "$*" >&2; exit 1; }

board=${1:?usage: agent_disk.sh BOARD [--with PACKAGE,…] [--size MIB]}
shift
root_options=() disk_options=("$@")
if [[ ${1:-} == --with ]]; then root_options=("$1" "${2:?--with needs packages}"); fi
arch=$(sed -n 's/^debian=//p' "$here/../$board/qemu.conf")
package=$(compgen -G "${FETTLE_PACKAGES:-$here/../../build/packages}/fettle-agent_*_$arch.deb" | sort -V | tail -n 1) ||
  die "no agent's package for $arch: ./dev packages"
root=$("$here/root.sh" "$arch" "${root_options[@]}")
key=$({ sha256sum <"$package"; cat "$here/disk.sh"; printf '%s\n' "$root" "${disk_options[@]}"; } | sha256sum | cut -c1-16)
disk=$root/agent-$key.img
exec 9>"$root/lock"
flock 9
if [[ ! -e $disk ]]; then
  rm -f "$root"/agent-*.img
  "$here/disk.sh" "$arch" "$disk.part" --package "$package" "${disk_options[@]}" >&2 9>&-
  mv "$disk.part" "$disk"
fi
printf '%s\n' "$disk"
