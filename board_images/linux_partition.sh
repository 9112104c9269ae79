# To be sourced. linux_partition IMAGE prints number, offset and size in bytes of the
# largest Linux partition (type 83) of the image's, or disk's, master boot record; exit
# status 1 when there is none.
# shellcheck shell=bash

# Four entries of 16 bytes from byte 446: type at 4, first sector at 8, sectors at 12. mawk's %d
# ends at 2^31 - 1.
linux_partition() {
  od -An -v -tu1 -w16 -j446 -N64 "$1" | awk '
    function word(at) { return $at + 256 * ($(at + 1) + 256 * ($(at + 2) + 256 * $(at + 3))) }
    $5 == 131 && word(13) > best { best = word(13); first = word(9); number = NR }
    END { if (best) printf "%d %.0f %.0f\n", number, first * 512, best * 512; exit !best }'
}
