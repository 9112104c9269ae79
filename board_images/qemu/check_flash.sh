#!/usr/bin/env bash
# The whole way of a board's card, as far as it goes without hardware: an image, told its
# broker (add_agent.sh), is written by `fettle flash` onto a loop device, which refuses what
# it must, and booted under QEMU from that device's bytes until its agent registers. Needs
# root, for loop devices. `./dev emulate BOARD --check-flash` builds what it needs and calls it.
#
#   board_images/qemu/check_flash.sh BOARD
#
# The RK3399's image is ours, whole (debian/disk.sh, with a boot loader). The Pynq's is one
# like a stock PYNQ image, which add_agent.sh puts the agent into without dpkg: its
# service's user is systemd's dynamic one.
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"
readonly loader=rock-pi-4-rk3399

board=${1:?usage: check_flash.sh BOARD}
readonly name=$board-card
arch=$(board_value "$board" debian)
key=$(board_value "$board" key)
package=$(agent_package "$arch")
[[ $(id -u) == 0 ]] || die "loop devices need root"
loops=()
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
four_bytes_at() { dd if="$run/image" bs=512 skip="$1" count=1 status=none | od -An -tx1 -N4 | tr -d ' '; }

printf '== The image\n'
add_agent() {
  "$here/add_agent.sh" "$run/image" --name "$name" --broker "$(as_board_sees "$broker")" \
    --broker-key "$broker_key" --key "$key" --set 'emulated = true' "$@"
}
case $board in
  rk3399)
    "$here/debian/disk.sh" "$arch" "$run/image" --package "$package" --boot-loader "$loader"
    add_agent
    printf '   U-Boot: at sector 64 "%s", at sector 16384 a flattened image tree (%s)\n' \
      "$(four_bytes_at 64)" "$(four_bytes_at 16384)"
    ;;
  pynq)
    "$here/pynq/stock_like.sh" "$run/image"
    add_agent --package "$package"
    ;;
  *) die "no card of '$board' (rk3399, pynq)" ;;
esac

printf '== fettle flash\n'
loop_device 1024
refuses 'too small\|holds' "$fettle" flash --image "$run/image" --to "$device" --yes --force=fixed-disk
loop_device 2048
readonly card=$device
refuses 'fixed disk' "$fettle" flash --image "$run/image" --to "$card"
head -c 1M "$run/image" | gzip >"$run/image.gz"
refuses 'unpack it first' "$fettle" flash --image "$run/image.gz" --to "$card" --yes --force=fixed-disk
"$fettle" flash --image "$run/image" --to "$card" --yes --force=fixed-disk
partx -u "$card" 2>/dev/null || true
mkdir "$run/mounted"
read -r number _ < <(linux_partition "$card")
if [[ -b ${card}p$number ]] && mount -o ro,noload "${card}p$number" "$run/mounted"; then
  refuses 'umount /dev/' "$fettle" flash --image "$run/image" --to "$card"
  umount "$run/mounted"
else
  printf '   this system shows no partitions of loop devices: a mounted one was not tried\n'
  failed=1
fi

printf '== Booted from %s\n' "$card"
FETTLE_EMULATE_LIMIT=${FETTLE_EMULATE_LIMIT:-300} "$here/qemu/emulate.sh" "$board" --disk "$card" --broker "$broker" --broker-key "$broker_key" \
  --name "$name" --for 1 --console "$run/console" || { tail -n 20 "$run/console" >&2; failed=1; }
((!failed)) || die "not everything came true"
printf 'the card of the %s: written, read back, booted, registered\n' "$board"
