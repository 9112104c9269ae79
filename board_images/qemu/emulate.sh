#!/usr/bin/env bash
# One whole board under qemu-system, as a device of a broker. `./dev emulate` builds
# what it needs and calls it:
#
#   board_images/qemu/emulate.sh BOARD --check | --check-sandbox | --broker URL  [--broker-key Z85]
#                                [--name NAME] [--key KEY] [--icount] [--for SECONDS]
#                                [--image debian [--opencl] | --disk FILE [--keep]] …
#
#   --check    a broker of its own on loopback: boot, wait for the registration, print
#              the board's facts, shut down. Exit status 0 when all of that came true
#   --check-sandbox  the same, and then candidates that open a file, open /dev/mem, make a
#              socket, signal another process, crash or never end must be killed and named
#              there, and a good one be measured after them
#   --broker   joins a broker on this machine, such as tcp://127.0.0.1:9190, and stays
#              until Ctrl-C, the machine's own end, or --for SECONDS. The board's key
#              pair is made in $FETTLE_HOME and allowed there
#   --name     host name and identity, for several boards at once (default: BOARD)
#   --key      the device key (default: the board's, such as pynq)
#   --pid-file PATH   where this script's own process id goes; SIGUSR1 to it switches the
#              machine off and on, as a power-cycle command would
#   --image debian  a whole Debian with systemd and the agent's package installed, instead of
#              the small image: made by debian/disk.sh (minutes, once)
#   --opencl   with OpenCL on its CPU (PoCL): a second device, KEY-opencl. With --check three
#              layers of MobileNet are tuned on it. Compiling takes long there: each candidate
#              some seconds
#   --fpga     (pynq) in a QEMU of our own that has a programmable logic (fpga/qemu): a second device,
#              KEY-vta, is the accelerator in it, behind Linux's FPGA manager, registers and DMA. Its
#              cycles are the simulator's estimate, and how long a run takes here is no board's time.
#              `./dev emulate pynq --fpga --check` tries it with all that may go wrong (check_fpga.sh)
#   --design NAME    whose bitstream that device is told to load: pynq (default) or vta-stock
#   --overlay FOLDER   what lies in it is in the small image, too. Its etc/fettle/before-agent, a
#              program, is run there before the agent
#   --disk     a card's image, or the card, as it is: one of debian/disk.sh, whose agent
#              add_agent.sh has told the broker. What the machine writes is lost
#              without --keep
#   --ssh PORT       forwards that port of this machine's loopback to the board's ssh
#   --console PATH   keeps what the board prints
#   --monitor PATH   QEMU's monitor, as a socket
#   --icount   a guest nanosecond is one executed instruction: the clock domain is
#              Instructions, and what is measured can be repeated exactly
if [[ " $* " =~ " "(-h|--help)" " ]]; then
  sed -n '2,/^if /{/^#/s/^# \{0,1\}//p}' "$0"
  exit
fi
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"
# shellcheck source=board_images/board_key.sh
source "$here/board_key.sh"
# BOARD/qemu.conf says these.
arch="" program="" key="" model="" console="" fpga_designs="" machine=() serial=() card=() card_root=""

readonly limit=${FETTLE_EMULATE_LIMIT:-120} # seconds until a board counts as lost
readonly again=20                           # and until it is switched off and on

board=${1:?usage: emulate.sh BOARD --check | --broker URL …}
shift
[[ -f $here/$board/qemu.conf ]] || die "no emulation of '$board'"

check='' check_sandbox='' broker='' broker_key='' name=$board icount='' stay='' pid_file='' machine_pid=''
asked_key='' debian_image='' opencl='' memory=512M keep='' disk='' card_partition='' card_offset='' ssh_port='' console_file='' monitor=''
fpga='' design=pynq overlay=''
while (($#)); do
  case $1 in
    --check) check=1; shift; continue ;;
    --check-sandbox) check=1 check_sandbox=1; shift; continue ;;
    --icount) icount=1; shift; continue ;;
    --keep) keep=1; shift; continue ;;
    --opencl) opencl=1; shift; continue ;;
    --fpga) fpga=1; shift; continue ;;
    --design | --overlay | --broker | --broker-key | --name | --key | --for | --pid-file | --image | --disk | --ssh | --console | --monitor)
      (($# > 1)) || die "$1 needs a value"
      ;;
    *) die "unknown option '$1' (the head of $0 lists them)" ;;
  esac
  case $1 in
    --broker) broker=$2 ;;
    --broker-key) broker_key=$2 ;;
    --name) name=$2 ;;
    --key) asked_key=$2 ;;
    --for) stay=$2 ;;
    --pid-file) pid_file=$2 ;;
    --image) [[ $2 == debian ]] || die "no image '$2' (debian)"; debian_image=1 ;;
    --disk) disk=$2 ;;
    --ssh) ssh_port=$2 ;;
    --console) console_file=$2 ;;
    --monitor) monitor=$2 ;;
    --design) design=$2 ;;
    --overlay) overlay=$2 ;;
  esac
  shift 2
done
if [[ -n $opencl && -z $broker ]]; then check=1; fi
[[ -n $check || -n $broker ]] || die "--check, or --broker URL of a broker on this machine"
[[ -z $check || -z $broker ]] || die "--check brings a broker of its own: no --broker with it"
[[ -x $fettle ]] || die "no fettle at $fettle: ./dev build"

sandbox_check=${FETTLE_SANDBOX_CHECK:-$root/build/bin/sandbox_check}
[[ -z $check_sandbox || -x $sandbox_check ]] || die "no $sandbox_check: ./dev build"
[[ -z $opencl || -n $debian_image ]] || die "--opencl needs --image debian: PoCL is Debian's"
[[ -z $fpga || -n $(board_value "$board" fpga_designs) ]] || die "the emulated $board has no FPGA"
[[ -z $fpga || -z $debian_image$disk$icount ]] || die "--fpga is the small image's, and without --icount"
[[ -z $overlay || (-d $overlay && -z $debian_image$disk) ]] || die "--overlay takes a folder, for the small image"
[[ -z $disk || -r $disk ]] || die "cannot read $disk"
[[ -z $disk || -n $broker ]] || die "--disk needs --broker: the one that its agent was told"

image=$("$here/image.sh" "$board")
packages=()
if [[ -n $opencl ]]; then
  with=$(board_value "$board" opencl_packages)
  [[ -n $with ]] || die "no OpenCL on the emulated $board"
  # shellcheck disable=SC2034  # memory: read by BOARD/qemu.conf
  packages=(--with "$with" --size 4096) memory=2G
fi
if [[ -n $debian_image ]]; then base_disk=$("$here/debian/agent_disk.sh" "$board" "${packages[@]}"); else base_disk=$disk; fi
if [[ -n $base_disk ]]; then
  # shellcheck disable=SC2034  # read by BOARD/qemu.conf
  read -r card_partition card_offset _ < <(linux_partition "$base_disk") || die "$base_disk has no Linux partition"
fi
started=$(date +%s%N)
seconds() { awk -v from="$started" -v to="$(date +%s%N)" 'BEGIN { printf "%.1f", (to - from) / 1e9 }'; }

open_session emulate
# A machine that hangs in a device model does not hear SIGTERM.
switch_off() {
  if [[ -z $machine_pid ]]; then return; fi
  kill -KILL "$machine_pid" 2>/dev/null || true
  wait "$machine_pid" 2>/dev/null || true
}
trap 'switch_off; end_session' EXIT
if [[ -n $debian_image ]]; then disk=$run/disk; fi
# Read by BOARD/qemu.conf.
# shellcheck disable=SC2034
forward=${ssh_port:+,hostfwd=tcp:127.0.0.1:$ssh_port-:22} snapshot=on
# shellcheck disable=SC2034
if [[ -n $keep ]]; then snapshot=off; fi
# shellcheck source=/dev/null
source "$here/$board/qemu.conf"
key=${asked_key:-$key}
dtb=$image/board.dtb
readonly bitstream_maker=${fettle%/*}/fettle-emulated-bitstream pl_library=${fettle%/*}/libfettle-pl.so
if [[ -n $fpga ]]; then
  program=$("$root/fpga/qemu/build.sh" --print) || die "no emulator with an FPGA here: ./dev emulate $board --fpga"
  [[ -x $bitstream_maker && -f $pl_library ]] || die "no $pl_library: ./dev emulate $board --fpga"
  dtb=$image/fpga.dtb
fi
console_file=${console_file:-$run/console}
command -v "$program" >/dev/null || die "no $program here: ./dev setup emulate"
agent=${FETTLE_AGENT_FOLDER:-$root/build/agents}/$arch/fettle-agent
[[ -x $agent ]] || die "no agent at $agent: ./dev agents $arch"
if [[ -n $check ]]; then own_keys; fi
home=${FETTLE_HOME:-$HOME/.config/fettle}
# Let in before anyone dials; a card has its key already.
if [[ -z $disk || -n $debian_image ]]; then
  allow_board_key "$home" "$name"
fi
if [[ -n $check ]]; then start_broker 'tcp://127.0.0.1:*'; fi
if [[ -z $broker_key ]]; then
  [[ -f $home/broker.key ]] || die "no broker of this account: name its key with --broker-key"
  broker_key=$(sed -n 's/^public //p' "$home/broker.key")
fi

show_devices() { "$fettle" devices --broker "$broker" --broker-key "$broker_key" "$@"; }
# Whoever may not ask would wait for the board in vain.
show_devices --json >/dev/null 2>"$run/devices.log" || die "cannot ask $broker for its boards: $(cat "$run/devices.log")"
named() { show_devices --json 2>/dev/null | grep "\"hostname\":\"$name\"" >/dev/null; }
unnamed() { ! named; }
# The broker keeps a board for some seconds after its last word; a living one stays.
until_true 20 unnamed || die "$broker has a board '$name' already: another name with --name"
board_broker=$(as_board_sees "$broker")
words="console=$console quiet panic=-1"
options=("${machine[@]}" -display none -no-reboot "${serial[@]}" -serial "file:$console_file"
  -monitor "${monitor:+unix:$monitor,server=on,wait=off}")
if [[ -z $monitor ]]; then options[-1]=none; fi

# The PL's library, bitstreams in the guest, and a device of the agent that loads one.
add_accelerator() {
  local designs=${fpga_designs//,/ } each
  [[ " $designs " == *" $design "* ]] || die "the emulated $board plays no design '$design' ($designs)"
  mkdir -p "$run/lib/firmware/fettle"
  for each in $designs; do "$bitstream_maker" "$each" "$run/lib/firmware/fettle/$each.bit"; done
  cat >>"$run/etc/fettle/agent.toml" <<TOML
[[device]]
key = "$key-vta"
device-kind = "vta"
vta-core = "board"
vta-design = "$design"
vta-bitstream = "/lib/firmware/fettle/$design.bit"
TOML
  options+=(-global "fettle-pl.library=$pl_library")
  words+=" uio_pdrv_genirq.of_id=generic-uio"
}

# The small image, and what this run adds: agent, key and configuration. The kernel
# unpacks one archive after the other.
start_small() {
  mkdir -p "$run"/{etc/fettle,var/lib/fettle,usr/bin,lib/firmware}
  chmod 755 "$run"/{etc,etc/fettle,var,var/lib,usr,usr/bin,lib,lib/firmware}
  cp "$agent" "$run/usr/bin/fettle-agent"
  cp "$home/$name.key" "$run/var/lib/fettle/agent.key"
  cat >"$run/etc/fettle/agent.toml" <<TOML
broker = "$board_broker"
broker-key = "$broker_key"
key-file = "/var/lib/fettle/agent.key"
board-model = "$model"
emulated = true
${icount:+clock = \"instructions\"}
[[device]]
key = "$key"
TOML
  if [[ -n $fpga ]]; then add_accelerator; fi
  (cd "$run" && find etc var usr lib -print0 | cpio --null -o -H newc --quiet -R 0:0) >"$run/overlay.cpio"
  if [[ -n $overlay ]]; then
    (cd "$overlay" && find . -mindepth 1 -print0 | cpio --null -o -H newc --quiet -R 0:0) >>"$run/overlay.cpio"
  fi
  cat "$image/initramfs.cpio" "$run/overlay.cpio" >"$run/initramfs"
  options+=(-kernel "$image/kernel" -initrd "$run/initramfs")
  words+=" fettle.name=$name fettle.machine=$(printf %s "$name" | sha256sum | cut -c1-32)"
}

# A Debian from a card; with its own kernel, where it has one.
start_card() {
  local part="$disk?offset=$card_offset" kernel
  if [[ -n $debian_image ]]; then
    cp --sparse=always "$base_disk" "$disk"
    local extra=(--set "board-model = \"$model\"" --set 'emulated = true')
    if [[ -n $icount ]]; then extra+=(--set 'clock = "instructions"'); fi
    if [[ -n $opencl ]]; then extra+=(--device "$key-opencl=opencl"); fi
    "$here/add_agent.sh" "$disk" --name "$name" --broker "$board_broker" --broker-key "$broker_key" \
      --key "$key" "${extra[@]}" >/dev/null
  fi
  kernel=$(PATH=$PATH:/sbin debugfs -R 'ls -p /boot' "$part" 2>/dev/null | sed -n 's#.*/vmlinuz-\([^/]*\)/.*#\1#p' | tail -n 1)
  if [[ -n $kernel ]]; then
    PATH=$PATH:/sbin debugfs -R "dump /boot/vmlinuz-$kernel $run/kernel" "$part" 2>/dev/null
    PATH=$PATH:/sbin debugfs -R "dump /boot/initrd.img-$kernel $run/initrd" "$part" 2>/dev/null
    options+=(-kernel "$run/kernel" -initrd "$run/initrd")
  else
    options+=(-kernel "$image/kernel")
  fi
  options+=("${card[@]}")
  words+=" $card_root systemd.hostname=$name"
}
if [[ -n $disk ]]; then start_card; else start_small; fi
options+=(-append "$words")
if [[ -f $dtb ]]; then options+=(-dtb "$dtb"); fi
if [[ -n $icount ]]; then options+=(-icount shift=0); fi
power_on() {
  "$program" "${options[@]}" >"$run/qemu.log" 2>&1 &
  machine_pid=$!
  switched_on=$SECONDS
}
# Power off as a switch does it: nothing in the machine is asked.
power_cycle() {
  switch_off
  power_on
  printf '%s was switched off and on\n' "$name"
}
power_on
trap power_cycle USR1
if [[ -n $pid_file ]]; then echo $$ >"$pid_file"; fi

until named; do
  if ! kill -0 "$machine_pid" 2>/dev/null || (($(date +%s) * 1000000000 - started > limit * 1000000000)); then
    tail -n 20 "$run/qemu.log" "$console_file" >&2
    die "$name did not register within $(seconds) s"
  fi
  # QEMU's Zynq now and then sleeps for ever while it boots. Counted instructions take longer;
  # a card's system, and one with more to do before, have other reasons not to register.
  if [[ -z $disk$overlay ]] && ((SECONDS - switched_on > (icount ? 4 * again : again))); then power_cycle; fi
  sleep 0.2
done
printf '%s registered as "%s" after %s s%s\n' "$name" "$key" "$(seconds)" "${icount:+, time in instructions}"
if [[ -n $check ]]; then
  show_devices
  if [[ -n $check_sandbox ]]; then
    printf '\nThe sandbox of %s:\n' "$name"
    "$sandbox_check" "$broker" "$broker_key" "$key"
  fi
  if [[ -n $opencl ]]; then
    told() { [[ $(show_devices) != *' OpenCL device '* ]]; } # its name before its driver is there
    until_true 240 told || die "the OpenCL device of the $board did not tell what it is"
    show_devices >"$run/devices"
    sed -n "/^$key-opencl .* on /,\$p" "$run/devices"
    printf '\nThree layers on %s-opencl:\n' "$key"
    "$fettle" tune "$here/qemu/opencl_layers.json" --device "$key-opencl" --broker "$broker" --broker-key "$broker_key" \
      --trials "${FETTLE_OPENCL_TRIALS:-24}" --scheduler round-robin --timeout 120 --db "$run/opencl.db"
    "$fettle" records best --db "$run/opencl.db"
    best=$("$fettle" records best --db "$run/opencl.db" --json | grep -c '"title"') || true
    ((best == 3)) || die "$best of three layers have a correct record"
  fi
  exit 0
fi
echo "$name stays until Ctrl-C${stay:+, at most $stay s}"
for ((i = 0; ${#stay} == 0 || i < stay * 5; ++i)); do
  if ! kill -0 "$machine_pid" 2>/dev/null; then break; fi
  sleep 0.2
done
