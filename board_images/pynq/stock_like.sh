#!/usr/bin/env bash
# An image like a stock PYNQ image, for trying what is done to one: its partitions (FAT of
# 100 MiB, then the root file system, ext4), systemd and no agent. The FAT partition is
# empty, and the system is Debian's armhf, not PYNQ's Ubuntu: those images are not ours.
#
#   board_images/pynq/stock_like.sh OUT
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly here
# Of the disk as a whole (a power of two, for QEMU's SD cards), and where its root begins.
readonly size_mib=2048 root_mib=101 card_root_mib=16
out=${1:?usage: stock_like.sh OUT}
export PATH=$PATH:/sbin:/usr/sbin

"$here/debian/disk.sh" armhf "$out.root" --size 1024 >/dev/null
rm -f "$out"
truncate -s "${size_mib}M" "$out"
printf 'label: dos\nstart=1MiB, size=100MiB, type=c, bootable\nstart=%dMiB, type=83\n' "$root_mib" |
  sfdisk --quiet "$out"
dd if="$out.root" of="$out" bs=1M skip="$card_root_mib" seek="$root_mib" conv=notrunc,sparse status=none
rm -f "$out.root"
