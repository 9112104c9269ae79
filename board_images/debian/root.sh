#!/usr/bin/env bash
# A Debian 12 root file system with systemd, for boards and for emulated ones:
#
#   board_images/debian/root.sh arm64|armhf [--with PACKAGE,…] [--print]
#
# Prints the folder that holds root.tar; arm64's has Debian's kernel and boot loaders for
# RK3399 boards in it. Made once by mmdebstrap, which runs the packages' scripts under
# qemu-user (binfmt_misc), and kept in ${FETTLE_CACHE:-~/.cache/fettle}/images/debian-ARCH/KEY.
# Root's password is locked: log in with a key of your own (disk.sh --ssh-key).
# --with adds Debian packages. --print only names the folder; exit status 1 when it is not there yet.
set -euo pipefail

readonly arch=${1:?usage: root.sh arm64|armhf [--with PACKAGE,…] [--print]}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly cache=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/images/debian-$arch

die() { printf 'root: %s\n' "$*" >&2; exit 1; }
# shellcheck source=board_images/debian/as_owner.sh
if [[ ${2:-} != --settle ]]; then source "$here/as_owner.sh"; fi

packages=systemd-sysv,systemd-resolved,systemd-timesyncd,udev,dbus,adduser,openssh-server,iproute2,kmod,procps
case $arch in
  arm64) packages+=,linux-image-arm64,busybox-static,u-boot-rockchip,u-boot-menu ;;
  armhf) ;; # the kernel comes with the board
  *) die "no root file system for '$arch' (arm64, armhf)" ;;
esac

if [[ ${2:-} == --with ]]; then
  packages+=,${3:?--with needs packages}
  set -- "$arch" "${@:4}"
fi
key=$({ cat "$here/root.sh" "$here/initrd_init"; echo "$packages"; } | sha256sum | cut -c1-16)
readonly root=$cache/$key
if [[ ${2:-} == --print ]]; then
  printf '%s\n' "$root"
  [[ -e $root/root.tar ]]
  exit
fi

# Programs of that architecture must start by name.
let_run() {
  if arch-test "$arch" >/dev/null 2>&1; then return; fi
  if [[ $(id -u) == 0 ]]; then
    mountpoint -q /proc/sys/fs/binfmt_misc || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc || true
    local name=qemu-aarch64
    if [[ $arch == armhf ]]; then name=qemu-arm; fi
    update-binfmts --enable "$name" || true
  fi
  arch-test "$arch" >/dev/null 2>&1 ||
    die "this system does not start $arch programs: packages qemu-user-static and binfmt-support, and binfmt_misc mounted"
}

# This system's own mirrors, where it is Debian 12 itself.
mirrors() {
  local file
  if ! grep -qs bookworm /etc/os-release; then return; fi
  for file in /etc/apt/sources.list.d/*debian.sources /etc/apt/sources.list; do
    if [[ -s $file ]]; then printf '%s\n' "$file"; return; fi
  done
}
# The same, or Debian's own where there are none, without security updates, into that folder.
# Prints the file.
without_security() { # INTO [SOURCES]
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  case ${2:-} in
    '') printf "deb [signed-by=$keyring] http://deb.debian.org/debian bookworm%s main\n" '' -updates >"$1/debian.list"
      printf '%s\n' "$1/debian.list"
      return ;;
    *.sources) awk -v RS= -v ORS='\n\n' '!/-security/' "$2" >"$1/${2##*/}" ;;
    *) grep -v -e -security "$2" >"$1/${2##*/}" ;;
  esac
  printf '%s\n' "$1/${2##*/}"
}

# Modules that lead to an RK3399's, or a virtual machine's, root file system.
root_modules='ext4 virtio_pci virtio_mmio virtio_blk fixed gpio-regulator fan53555 i2c-rk3x rk808
rk808-regulator pwm-rockchip pwm-regulator io-domain phy-rockchip-emmc dw_mmc-rockchip
sdhci-of-arasan mmc_block pcie-rockchip-host phy-rockchip-pcie nvme phy-rockchip-inno-usb2
phy-rockchip-typec dwc3 dwc3-of-simple xhci-plat-hcd ehci-platform usb-storage uas sd_mod'
readonly root_modules

# The kernel's initial file system, on this machine: initramfs-tools would take ten minutes
# under qemu-user. On the board `update-initramfs -c -k all` makes Debian's own.
make_initrd() { # FOLDER
  local into=$1 version work number=100 module word path
  version=$(cd "$into/lib/modules" && echo *)
  work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-initrd.XXXXXX")
  mkdir -p "$work"/{bin,dev,proc,sys,root,modules}
  cp "$into/bin/busybox" "$work/bin/busybox"
  cp "$here/initrd_init" "$work/init"
  for module in $root_modules; do
    # Some are built in; not every version of the kernel has every one.
    while read -r word path; do
      if [[ $word != insmod ]] || compgen -G "$work/modules/*-${path##*/}" >/dev/null; then continue; fi
      cp "$path" "$work/modules/$number-${path##*/}"
      number=$((number + 1))
    done < <(modprobe -d "$into" -S "$version" --show-depends "$module" 2>/dev/null)
  done
  for module in ext4 virtio_blk; do
    compgen -G "$work/modules/*-$module.ko" >/dev/null || die "no module $module of $version in $into"
  done
  (cd "$work" && find . -print0 | LC_ALL=C sort -z | cpio --null -o -H newc --quiet --reproducible -R 0:0 | gzip -n) \
    >"$into/boot/initrd.img-$version"
  rm -rf "$work"
}

# What the packages leave open: names, network by DHCP, and where updates come from.
settle() {
  local into=$1
  echo fettle >"$into/etc/hostname"
  printf '127.0.0.1 localhost fettle\n' >"$into/etc/hosts"
  printf '[Match]\nName=en* eth*\n[Network]\nDHCP=yes\n' >"$into/etc/systemd/network/80-wired.network"
  printf 'LABEL=root / ext4 errors=remount-ro 0 1\n' >"$into/etc/fstab"
  rm -f "$into"/etc/apt/sources.list.d/* "$into"/etc/ssh/ssh_host_*
  printf 'deb http://deb.debian.org/debian bookworm%s main\n' '' -updates >"$into/etc/apt/sources.list"
  echo 'deb http://security.debian.org/debian-security bookworm-security main' >>"$into/etc/apt/sources.list"
  chroot "$into" systemctl --quiet enable systemd-networkd
  # Keys of one image's boards must differ: made at the first start.
  cat >"$into/etc/systemd/system/ssh-host-keys.service" <<'UNIT'
[Unit]
Description=Host keys of ssh, made at the first start
Before=ssh.service
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key
[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -A
[Install]
WantedBy=multi-user.target
UNIT
  chroot "$into" systemctl --quiet enable ssh-host-keys
  : >"$into/etc/machine-id"
  if [[ $arch == arm64 ]]; then
    make_initrd "$into"
    printf 'U_BOOT_ROOT="root=LABEL=root"\nU_BOOT_PARAMETERS="ro rootwait console=ttyS2,1500000 console=tty0"\n' >"$into/etc/default/u-boot"
    chroot "$into" u-boot-update
  fi
}
# mmdebstrap calls this script with the folder that it fills.
if [[ ${2:-} == --settle ]]; then
  settle "$3"
  exit
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [[ ! -e $root/root.tar ]]; then
  command -v mmdebstrap >/dev/null || die "no mmdebstrap here: ./dev setup emulate"
  let_run
  work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-root.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  printf '   making a Debian root file system for %s (once; kept in %s)\n' "$arch" "$root" >&2
  start=$SECONDS
  # The hook runs as another user, who need not see this account's home.
  chmod 711 "$work"
  install -m 755 "$here/root.sh" "$here/initrd_init" "$work"
  find_owner
  # Its own namespaces are mmdebstrap's business.
  if [[ ${as_owner[0]:-} == unshare ]]; then as_owner=(); fi
  make_root() { # SOURCES…; INITRD: what the kernel's installation asks before it has one made
    "${as_owner[@]}" env INITRD=No mmdebstrap --variant=minbase --architectures="$arch" --include="$packages" \
      --aptopt='Acquire::Retries "3"' --dpkgopt='path-exclude=/usr/share/doc/*' \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      --customize-hook="'$work/root.sh' $arch --settle \"\$1\"" \
      bookworm "$work/root.tar" "$@" >"$work/log" 2>&1 9>&-
  }
  mapfile -t sources < <(mirrors)
  # Mirrors are now and then out of step for one architecture's security updates.
  if ! make_root "${sources[@]}"; then
    if ! grep -q '^E: Failed to fetch .*-security' "$work/log"; then
      tail -n 20 "$work/log" >&2
      exit 1
    fi
    echo "   the mirror's security updates for $arch cannot be read now: without them (the board can fetch them)" >&2
    plain=$(without_security "$work" "${sources[@]}")
    make_root "$plain" || { tail -n 20 "$work/log" >&2; exit 1; }
  fi
  printf '   root file system of %s: %d s\n' "$arch" $((SECONDS - start)) >&2
  mkdir -p "$root"
  # Whole or not at all: from another file system, mv copies.
  mv "$work/root.tar" "$root/root.tar.new" && mv "$root/root.tar.new" "$root/root.tar"
fi
printf '%s\n' "$root"
