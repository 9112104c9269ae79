#!/usr/bin/env bash
# Makes the small image that an emulated board starts from, and prints its folder:
#
#   board_images/image.sh rk3399|pynq [--print]
#
#   kernel, board.dtb (where the machine needs one; fpga.dtb with a PL), initramfs.cpio, contents
#
# board_images/BOARD/image.sh says what is in it. Images are named by their recipe
# and lie outside the source tree, ${FETTLE_CACHE:-~/.cache/fettle}/images/BOARD/KEY,
# so that each is made once. --print only names the folder; exit status 1 when
# the image is not there yet, 3 when the mirrors did not give a package. Progress goes to
# stderr.
set -euo pipefail

readonly board=${1:?usage: image.sh BOARD [--print]}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly recipe=$here/$board/image.sh
readonly cache=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/images/$board

say() { printf '   %s\n' "$*" >&2; }
die() { printf 'image: %s\n' "$*" >&2; exit 1; }
[[ -f $recipe ]] || die "no image for '$board'"

# step WHAT COMMAND…: its output in the log, its time on stderr.
step() {
  local what=$1 start=$SECONDS
  shift
  "$@" >>"$work/log" 2>&1
  say "$what: $((SECONDS - start)) s"
}

# make_initramfs: what is common to all boards, and the board's own $work/root.
make_initramfs() {
  local root=$work/root
  mkdir -p "$root"/{bin,etc/fettle,proc,sys,dev,tmp,run,root,var/lib/fettle,usr/bin,modules}
  cp "$work/busybox/bin/busybox" "$root/bin/busybox"
  cp "$here/init" "$root/init"
  (cd "$root" && find . -print0 | LC_ALL=C sort -z | cpio --null -o -H newc --quiet --reproducible -R 0:0) \
    >"$stage/initramfs.cpio"
}

# The recipe defines image_inputs (lines that its result depends on, beside the
# files here) and make_image, which fills $stage from $work.
# shellcheck source=/dev/null
source "$here/foreign_apt.sh"
# shellcheck source=/dev/null
source "$recipe"

key=$({ cat "$here/image.sh" "$here/init" "$here/foreign_apt.sh" "$here/$board"/*; image_inputs; } |
  sha256sum | cut -c1-16)
readonly image=$cache/$key
if [[ ${2:-} == --print ]]; then
  printf '%s\n' "$image"
  [[ -e $image/contents ]]
  exit
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [[ ! -e $image/contents ]]; then
  say "making the $board image (once; kept in $image)"
  work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-image.XXXXXX")
  clean_up() {
    local status=$?
    if ((status)) && [[ -s $work/log ]]; then tail -n 30 "$work/log" >&2; fi
    rm -rf "$work"
    exit "$status"
  }
  trap clean_up EXIT
  readonly stage=$work/stage
  mkdir -p "$stage"
  make_image
  make_initramfs
  # Whole or not at all: from another file system, mv copies.
  rm -rf "$image" "$image.new"
  mv "$stage" "$image.new" && mv "$image.new" "$image"
fi
printf '%s\n' "$image"
