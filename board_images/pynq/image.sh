# The emulated Pynq: a kernel of our own from Debian's linux-source (its armmp kernel
# has no Zynq), its device trees (board.dts; fpga.dts, where QEMU has a PL) and busybox. Sourced by
# board_images/image.sh.
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
  cd "$work/linux" || return
  export ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf-
  configure_kernel
  # Newer kernels keep the vendors' boards apart.
  local folder
  folder=$(cd arch/arm/boot/dts && find . -name zynq-zc702.dts -printf '%P\n')
  folder=${folder%zynq-zc702.dts}
  cp "$here/pynq/board.dts" "arch/arm/boot/dts/${folder}fettle-pynq.dts"
  cp "$here/pynq/fpga.dts" "arch/arm/boot/dts/${folder}fettle-pynq-fpga.dts"
  cp "$here/pynq/fpga_firmware.c" drivers/fpga/fettle_firmware.c
  echo 'obj-$(CONFIG_FPGA_MGR_ZYNQ_FPGA) += fettle_firmware.o' >>drivers/fpga/Makefile
  make -s -j"$(nproc)" zImage "${folder}fettle-pynq.dtb" "${folder}fettle-pynq-fpga.dtb"
}

# Kept by what went into it, so that another init script does not cost minutes.
make_kernel() {
  local source
  source=$(kernel_source) || die "no linux-source package here: ./dev setup emulate"
  mkdir -p "$work/linux" "$work/kernel"
  step "unpacking ${source##*/}" tar -xf "$source" -C "$work/linux" --strip-components=1
  (step "kernel" build_kernel)
  cp "$work/linux/arch/arm/boot/zImage" "$work/kernel/kernel"
  cp "$(find "$work/linux/arch/arm/boot/dts" -name fettle-pynq.dtb)" "$work/kernel/board.dtb"
  cp "$(find "$work/linux/arch/arm/boot/dts" -name fettle-pynq-fpga.dtb)" "$work/kernel/fpga.dtb"
  (cd "$work/linux" && make -s kernelversion) >"$work/kernel/contents"
  rm -rf "$kept" "$kept.new"
  mv "$work/kernel" "$kept.new" && mv "$kept.new" "$kept"
}

make_image() {
  local kept
  kept=$cache/kernel-$({ cat "$here"/pynq/{kernel.config,board.dts,fpga.dts,fpga_firmware.c}; image_inputs; declare -f configure_kernel build_kernel; } |
    sha256sum | cut -c1-16)
  if [[ ! -e $kept/contents ]]; then make_kernel; fi
  cp "$kept"/* "$stage/"
  step "package lists of armhf" foreign_apt_open armhf "$work/apt"
  step "busybox" foreign_unpack busybox-static "$work/busybox"
}
