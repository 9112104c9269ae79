#!/usr/bin/env bash
# A disk image (SD card) with a Debian root file system, for an RK3399 board or an
# emulated one:
#
#   board_images/debian/disk.sh arm64|armhf OUT [--package DEB] [--boot-loader BOARD]
#                               [--ssh-key FILE] [--size MIB] [--with PACKAGE,…]
#
#   --package      installed with dpkg; the agent's, say. Its key pair is left out: that
#                  is each board's own (add_agent.sh)
#   --boot-loader  arm64: U-Boot for one of the boards of Debian's u-boot-rockchip, such as
#                  rock-pi-4-rk3399, rockpro64-rk3399 (--boot-loader list prints them)
#   --ssh-key      a public key that may log in as root; without, nobody may
#   --size         of the whole disk, 2048 unless told (a power of two for QEMU's SD cards)
#   --with         more Debian packages
#
# One partition (ext4, label root) from 16 MiB on, under a master boot record. The boot
# loader lies before it: idbloader at sector 64, u-boot.itb at sector 16384. Run it as
# yourself: no mounts, and sudo only where an account gets no user ids of its own
# (as_owner.sh).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly first_mib=16

die() { printf 'disk: %s\n' "$*" >&2; exit 1; }
# shellcheck source=board_images/debian/as_owner.sh
source "$here/as_owner.sh"

# Inside of a user namespace, where there is need for one: unpacks, installs, and makes
# the file system.   --fill WORK ARCH TAR PACKAGE SSH_KEY SIZE_MIB
fill() {
  local work=$1 tar=$2 package=$3 ssh_key=$4 mib=$5
  into=$work/root
  # Ids of the namespace, or root's, that nobody outside could remove.
  trap 'rm -rf "${into:?}"' EXIT
  mkdir "$into"
  # Without device nodes: systemd finds the kernel's own.
  tar --numeric-owner --exclude='./dev/*' -C "$into" -xpf "$tar"
  if [[ -n $package ]]; then
    cp "$package" "$into/package.deb"
    chroot "$into" env DEBIAN_FRONTEND=noninteractive dpkg --install /package.deb
    rm -f "$into/package.deb" "$into/var/lib/fettle/agent.key"
  fi
  if [[ -n $ssh_key ]]; then
    install -d -m 700 "$into/root/.ssh"
    install -m 600 "$ssh_key" "$into/root/.ssh/authorized_keys"
  fi
  mke2fs -q -t ext4 -L root -d "$into" "$work/root.ext4" "${mib}M"
}
if [[ ${1:-} == --fill ]]; then
  shift
  fill "$@"
  exit
fi

arch=${1:?usage: disk.sh arm64|armhf OUT …} out=${2:?usage: disk.sh arm64|armhf OUT …}
shift 2
package='' loader='' ssh_key='' size=2048 with=()
while (($#)); do
  (($# > 1)) || die "$1 needs a value"
  case $1 in
    --package) package=$2 ;;
    --boot-loader) loader=$2 ;;
    --ssh-key) ssh_key=$2 ;;
    --size) size=$2 ;;
    --with) with=(--with "$2") ;;
    *) die "unknown option '$1' (--package, --boot-loader, --ssh-key, --size, --with)" ;;
  esac
  shift 2
done
if ! [[ $size =~ ^[0-9]+$ ]] || ((size < 512)); then die "--size is in MiB, 512 and more"; fi
for file in "$package" "$ssh_key"; do [[ -z $file || -f $file ]] || die "no file $file"; done
for tool in mke2fs sfdisk; do command -v "$tool" >/dev/null || die "no $tool here: ./dev setup emulate"; done

tar=$("$here/root.sh" "$arch" "${with[@]}")/root.tar
if [[ -n $loader ]]; then
  boards=$(tar -tf "$tar" | sed -n 's#^./usr/lib/u-boot/\(.*-rk3399\)/idbloader.img$#\1#p' | sort)
  # puma's goes to another sector, and SPI flash on some.
  if [[ $loader == list ]]; then grep -v '^puma' <<<"$boards"; exit; fi
  [[ $loader != puma* ]] || die "puma's boot loader lies elsewhere: see u-boot-rockchip's README.Debian"
  grep -qxF "$loader" <<<"$boards" || die "no boot loader for '$loader'; there are: ${boards//$'\n'/, }"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-disk.XXXXXX")
trap 'rm -rf "$work"' EXIT
find_owner
"${as_owner[@]}" "$here/disk.sh" --fill "$work" "$tar" "$package" "$ssh_key" $((size - first_mib)) \
  >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; die "could not make the file system"; }

image=$work/image
truncate -s "${size}M" "$image"
printf 'label: dos\nstart=%dMiB, type=83, bootable\n' "$first_mib" | sfdisk --quiet "$image"
put() { dd if="$1" of="$image" bs=512 seek="$2" conv=notrunc,sparse status=none; }
if [[ -n $loader ]]; then
  tar -C "$work" -xf "$tar" "./usr/lib/u-boot/$loader"
  put "$work/usr/lib/u-boot/$loader/idbloader.img" 64
  put "$work/usr/lib/u-boot/$loader/u-boot.itb" 16384
fi
put "$work/root.ext4" $((first_mib * 2048))
mv "$image" "$out"
# By sudo all the same: still the caller's.
if [[ $(id -u) == 0 && -n ${SUDO_UID:-} ]]; then chown "$SUDO_UID" "$out"; fi
printf '%s: %d MiB, Debian 12 for %s%s%s\n' "$out" "$size" "$arch" "${package:+, with ${package##*/}}" \
  "${loader:+, U-Boot for $loader}"
