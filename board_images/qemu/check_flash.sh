#!/usr/bin/env bash
# The whole way of an RK3399's card, as far as it goes without hardware: the image is
# made (debian/disk.sh with a boot loader), told its broker (add_agent.sh), written by
# `fettle flash` onto a loop device, which refuses what it must, and booted under QEMU
# from that device's bytes until its agent registers. Needs root, for loop devices.
# `./dev emulate rk3399 --check-flash` builds what it needs and calls it.
#
#   board_images/qemu/check_flash.sh
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly here
readonly root=$here/..
export FETTLE_PROGRAM=${FETTLE_PROGRAM:-$root/build/bin/fettle}
readonly fettle=$FETTLE_PROGRAM
readonly loader=rock-pi-4-rk3399

die() { printf 'check_flash: %s\n' "$*" >&2; exit 1; }
[[ $(id -u) == 0 ]] || die "loop devices need root"
package=$(compgen -G "${FETTLE_PACKAGES:-$root/build/packages}/fettle-agent_*_arm64.deb" | tail -n 1) ||
  die "no agent's package for arm64: ./dev packages"

run='' broker='' broker_key='' loops=()
# shellcheck source=/dev/null
source "$here/qemu/session.sh"
open_session flash
give_back() {
  local device
  umount "$run/mounted" 2>/dev/null || true
  for device in "${loops[@]}"; do losetup -d "$device" || true; done
  end_session
}
trap give_back EXIT
own_keys
start_broker 'tcp://127.0.0.1:*'

loop_device() { # MIB: a disk of that size
  local file
  file=$run/disk.${#loops[@]}
  truncate -s "$1M" "$file"
  device=$(losetup --find --show --partscan "$file") || die "no loop device here"
  loops+=("$device")
}
failed=0
refuses() { # WORDS COMMAND…: must fail and say that
  local words=$1
  shift
  if ! "$@" >"$run/said" 2>&1 && grep -q "$words" "$run/said"; then
    printf '   refused: %s\n' "$(tail -n 1 "$run/said")"
  else
    printf '   NOT refused (%s): %s\n' "$words" "$(cat "$run/said")"
    failed=1
  fi
}

printf '== The image\n'
"$here/debian/disk.sh" arm64 "$run/image" --package "$package" --boot-loader "$loader"
"$here/add_agent.sh" "$run/image" --name rk3399-card --broker "${broker/#tcp:\/\/127.0.0.1:/tcp://10.0.2.2:}" \
  --broker-key "$broker_key" --key rk3399 --set 'emulated = true'
printf '   U-Boot: at sector 64 "%s", at sector 16384 a flattened image tree (%s)\n' \
  "$(dd if="$run/image" bs=512 skip=64 count=1 status=none | od -An -tx1 -N4 | tr -d ' ')" \
  "$(dd if="$run/image" bs=512 skip=16384 count=1 status=none | od -An -tx1 -N4 | tr -d ' ')"

printf '== fettle flash\n'
loop_device 1024
refuses 'too small\|holds' "$fettle" flash --image "$run/image" --to "$device" --force
loop_device 2048
readonly card=$device
refuses 'fixed disk' "$fettle" flash --image "$run/image" --to "$card"
"$fettle" flash --image "$run/image" --to "$card" --force
partx -u "$card" 2>/dev/null || true
mkdir "$run/mounted"
if [[ -b ${card}p1 ]] && mount -o ro,noload "${card}p1" "$run/mounted"; then
  refuses 'mounted' "$fettle" flash --image "$run/image" --to "$card"
  umount "$run/mounted"
else
  printf '   this system shows no partitions of loop devices: a mounted one was not tried\n'
  failed=1
fi

printf '== Booted from %s\n' "$card"
"$here/qemu/emulate.sh" rk3399 --disk "$card" --broker "$broker" --broker-key "$broker_key" \
  --name rk3399-card --for 1 --console "$run/console" || { tail -n 20 "$run/console" >&2; failed=1; }
((!failed)) || die "not everything came true"
printf 'the card: written, read back, booted, registered\n'
