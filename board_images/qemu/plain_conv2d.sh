#!/usr/bin/env bash
# Runs plain_conv2d.c on an emulated board that counts instructions, once as clang -O3
# makes it for that core and once with -ffast-math, which alone lets clang use ARMv7's
# vector unit for float32. Prints for each of count.sh's layers
#   layer<TAB>instructions<TAB>instructions with -ffast-math
#
#   board_images/qemu/plain_conv2d.sh BOARD
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"

board=${1:?usage: plain_conv2d.sh BOARD}
arch='' program='' console='' machine=() serial=() forward='' disk='' snapshot='' card_partition='' memory=512M
# shellcheck source=/dev/null
source "$here/$board/qemu.conf"
: "$forward" "$disk" "$snapshot" "$card_partition" "$memory" # read by qemu.conf
case $arch in
  aarch64) triple=aarch64-linux-gnu core=(-mcpu=cortex-a72) ;;
  armv7) triple=arm-linux-gnueabihf core=(-mcpu=cortex-a9 -mfpu=neon -mfloat-abi=hard) ;;
esac
need clang-19
image=$("$here/image.sh" "$board")
open_session plain

mkdir -p "$run/root/plain"
# Height, channels in and out, kernel, stride, padding, relu of three_layers.json.
layers=("56 64 128 1 2 0 0" "28 128 256 1 2 0 0" "14 256 512 1 2 0 0")
number=0
for layer in "${layers[@]}"; do
  read -r height in out kernel stride pad relu <<<"$layer"
  for fast in "" -ffast-math; do
    clang-19 --target="$triple" "${core[@]}" -O3 $fast -Wall -Wextra -DHEIGHT="$height" -DIN_CHANNELS="$in" \
      -DOUT_CHANNELS="$out" -DKERNEL="$kernel" -DSTRIDE="$stride" -DPAD="$pad" -DRELU="$relu" \
      -c "$here/qemu/plain_conv2d.c" -o "$run/plain.o"
    "$triple-gcc" -static "$run/plain.o" -o "$run/root/plain/$((number++))"
  done
done
cat >"$run/root/count" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
for program in /plain/*; do $program; done
/bin/busybox reboot -f
INIT
chmod 755 "$run/root/count"
(cd "$run/root" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0) >"$run/overlay.cpio"
cat "$image/initramfs.cpio" "$run/overlay.cpio" >"$run/initramfs"
options=("${machine[@]}" -kernel "$image/kernel" -initrd "$run/initramfs" -display none -monitor none
  -no-reboot "${serial[@]}" -serial "file:$run/console" -icount shift=0
  -append "console=$console quiet panic=-1 rdinit=/count")
if [[ -f $image/board.dtb ]]; then options+=(-dtb "$image/board.dtb"); fi
timeout -k 5 600 "$program" "${options[@]}" >"$run/qemu.log" 2>&1 || die "$program: $(tail -n 2 "$run/qemu.log")"
mapfile -t counts < <(tr -d '\r' <"$run/console" | sed -n 's/.*plain \([0-9]*\) right$/\1/p')
((${#counts[@]} == number)) || { tail -n 5 "$run/console" >&2; die "a program failed"; }
for ((i = 0; i < ${#layers[@]}; ++i)); do
  read -r height in out _ <<<"${layers[i]}"
  printf 'conv2d %dx%dx%d→%d\t%s\t%s\n' "$height" "$height" "$in" "$out" "${counts[2 * i]}" "${counts[2 * i + 1]}"
done
