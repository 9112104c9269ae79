# The emulated Pynq: a kernel of our own from Debian's linux-source (its armmp kernel
# has no Zynq), the device tree of Xilinx' ZC702, which is the board that QEMU
# models, and busybox. Sourced by board_images/image.sh.
# shellcheck shell=bash disable=SC2154

kernel_source() {
  local file
  for file in /usr/src/linux-source-*.tar.xz; do
    if [[ -f $file ]]; then printf '%s\n' "$file"; return; fi
  done
  return 1
}

image_inputs() {
  dpkg-query -W -f '${Package} ${Version}\n' 'linux-source-*' 2>/dev/null || true
  arm-linux-gnueabihf-gcc -dumpfullversion
}

configure_kernel() {
  local line
  make -s tinyconfig
  scripts/kconfig/merge_config.sh -m .config "$here/pynq/kernel.config"
  make -s olddefconfig
  # A line that did not survive was misspelt, or lacks what it depends on.
  while read -r line; do
    if [[ $line == CONFIG_* || $line == *"is not set" ]]; then
      grep -qxF "$line" .config || { echo "kernel.config: lost: $line"; return 1; }
    fi
  done <"$here/pynq/kernel.config"
}

build_kernel() {
  cd "$work/linux"
  export ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf-
  configure_kernel
  make -s -j"$(nproc)" zImage zynq-zc702.dtb
}

make_image() {
  local source
  source=$(kernel_source) || die "no linux-source package here"
  mkdir -p "$work/linux"
  step "unpacking ${source##*/}" tar -xf "$source" -C "$work/linux" --strip-components=1
  (step "kernel" build_kernel)
  cp "$work/linux/arch/arm/boot/zImage" "$stage/kernel"
  cp "$(find "$work/linux/arch/arm/boot/dts" -name zynq-zc702.dtb)" "$stage/board.dtb"
  step "package lists of armhf" foreign_apt_open armhf "$work/apt"
  step "busybox" foreign_unpack busybox-static "$work/busybox"
  (cd "$work/linux" && make -s kernelversion) >"$stage/contents"
}
