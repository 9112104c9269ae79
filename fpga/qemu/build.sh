#!/usr/bin/env bash
# Builds the emulator of a Zynq-7000 that has a programmable logic, from the distribution's source
# package of QEMU, and prints the finished program:
#
#   fpga/qemu/build.sh [--print]
#
# QEMU 7.2, to which patches/ teach that a bitstream can be loaded, and fettle_pl.c, which is what
# is loaded. It takes its logic from build/bin/libfettle-pl.so at run time: only a change of those
# files or of QEMU means another build. Named by what went into it, and outside the source tree:
#   ${FETTLE_CACHE:-~/.cache/fettle}/qemu/KEY/qemu-system-arm
# --print only names it; exit status 1 when it is not there yet. Exit status 3: it cannot be had
# here (no mirror gave the source, or the distribution's QEMU is another version).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly cache=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/qemu
readonly wanted=7.2

say() { printf '   %s\n' "$*" >&2; }
die() { printf 'fpga/qemu: %s\n' "$1" >&2; exit "${2:-1}"; }

# Everything off that a board without a screen does not need. With the distribution's meson, hence
# its python, too.
readonly options=(--meson=meson --target-list=arm-softmmu --without-default-features --enable-tcg
  --enable-system --enable-fdt=system --enable-slirp --disable-werror --disable-install-blobs
  --disable-debug-info)

# That of the installed emulator, so that both boards are the same but for the PL.
version=$(dpkg-query -W -f '${source:Version}' qemu-system-arm 2>/dev/null) ||
  die "no qemu-system-arm is installed: ./dev setup emulate" 3
[[ ${version#*:} == "$wanted"* ]] ||
  die "the patches are for QEMU $wanted, and this distribution has ${version#*:}" 3
key=$({ printf '%s\n' "$version" "${options[@]}"; cat "$here"/fettle_pl*.{c,h} "$here"/patches/*; } |
  sha256sum | cut -c1-16)
readonly folder=$cache/$key
if [[ ${1:-} == --print ]]; then
  printf '%s\n' "$folder/qemu-system-arm"
  [[ -e $folder/qemu-system-arm ]]
  exit
fi

build() {
  local patch file compiler
  cd "$work/tree"
  for patch in "$here"/patches/*.patch; do patch -p1 <"$patch"; done
  cp "$here/fettle_pl.c" hw/misc/
  cp "$here"/fettle_pl{,_calls}.h include/hw/misc/
  # Debian's source is without some firmware for other machines, which meson's files name.
  sed -n "s/^ *'\(edk2-.*\.fd\)',$/\1/p" pc-bios/meson.build | while read -r file; do
    if [[ ! -e pc-bios/$file.bz2 ]]; then : >"pc-bios/$file.bz2"; fi
  done
  mkdir build && cd build
  if command -v ccache; then compiler="ccache gcc"; else compiler=gcc; fi
  ../configure --cc="$compiler" "${options[@]}"
  ninja -j "${FETTLE_JOBS:-$(nproc)}" qemu-system-arm
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [[ ! -x $folder/qemu-system-arm ]]; then
  say "making an emulator with a PL (once, some minutes; kept in $folder)"
  work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-qemu.XXXXXX")
  clean_up() {
    local status=$?
    if ((status)) && [[ -s $work/log ]]; then tail -n 30 "$work/log" >&2; fi
    rm -rf "$work"
    exit "$status"
  }
  trap clean_up EXIT
  start=$SECONDS
  if ! "$here/../../toolchains/fetch_source.sh" qemu "$version" "$work" >"$work/fetch.log" 2>&1; then
    grep -E '^(E|Err)[: ]' "$work/fetch.log" | sort -u | tail -n 5 >&2 || true
    die "the mirrors did not give the source package qemu $version" 3
  fi
  say "source of QEMU: $((SECONDS - start)) s"
  start=$SECONDS
  (export PATH=/usr/bin:$PATH CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$work; build) >"$work/log" 2>&1
  say "QEMU: $((SECONDS - start)) s"
  mkdir -p "$folder.new"
  cp "$work/tree/build/qemu-system-arm" "$folder.new/"
  rm -rf "$folder" && mv "$folder.new" "$folder"
fi
printf '%s\n' "$folder/qemu-system-arm"
