# The emulated RK3399: Debian's arm64 kernel for virtual machines, its virtio modules
# and busybox. Sourced by board_images/image.sh.
# shellcheck shell=bash disable=SC2154

image_inputs() { :; }

# The modules and all they need, numbered in the order in which they must be loaded.
pick_modules() {
  local version=$1 number=10 word path
  depmod -b "$work/kernel" "$version"
  mkdir -p "$work/root/modules"
  modprobe -d "$work/kernel" -S "$version" -a --show-depends virtio_pci virtio_net virtio_blk ext4 |
    while read -r word path; do
      if [[ $word != insmod ]] || compgen -G "$work/root/modules/*-${path##*/}" >/dev/null; then continue; fi
      cp "$path" "$work/root/modules/$number-${path##*/}"
      number=$((number + 1))
    done
}

make_image() {
  local package version
  step "package lists of arm64" foreign_apt_open arm64 "$work/apt"
  package=$(foreign_dependency linux-image-cloud-arm64 linux-image-) || {
    foreign_errors
    say "the mirrors of this system gave no linux-image-cloud-arm64 (Debian's have it)"
    exit 3
  }
  step "$package" foreign_unpack "$package" "$work/kernel"
  step "busybox" foreign_unpack busybox-static "$work/busybox"
  version=${package#linux-image-}
  cp "$work/kernel/boot/vmlinuz-$version" "$stage/kernel"
  step "modules" pick_modules "$version"
  echo "$package" >"$stage/contents"
}
