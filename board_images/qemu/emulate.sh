#!/usr/bin/env bash
# One whole board under qemu-system, as a device of a broker. `./dev emulate` builds
# what it needs and calls it:
#
#   board_images/qemu/emulate.sh BOARD --check | --broker URL  [--broker-key Z85]
#                                [--name NAME] [--key KEY] [--icount] [--for SECONDS]
#
#   --check    a broker of its own on loopback: boot, wait for the registration, print
#              the board's facts, shut down. Exit status 0 when all of that came true
#   --broker   joins a broker on this machine, such as tcp://127.0.0.1:9190, and stays
#              until Ctrl-C, the machine's own end, or --for SECONDS. The board's key
#              pair is made in $FETTLE_HOME and allowed there
#   --name     host name and identity, for several boards at once (default: BOARD)
#   --key      the device key (default: the board's, such as pynq)
#   --pid-file PATH   where this script's own process id goes; SIGUSR1 to it switches the
#              machine off and on, as a power-cycle command would
#   --icount   a guest nanosecond is one executed instruction: the clock domain is
#              Instructions, and what is measured can be repeated exactly
set -euo pipefail
# BOARD/qemu.conf says these.
arch="" program="" key="" model="" console="" machine=() serial=()

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly here
readonly root=$here/..
readonly fettle=${FETTLE_PROGRAM:-$root/build/bin/fettle}
readonly limit=${FETTLE_EMULATE_LIMIT:-120} # seconds until a board counts as lost
readonly again=20                           # and until it is switched off and on

die() { printf 'emulate: %s\n' "$*" >&2; exit 1; }

board=${1:?usage: emulate.sh BOARD --check | --broker URL …}
shift
[[ -f $here/$board/qemu.conf ]] || die "no emulation of '$board'"
# shellcheck source=/dev/null
source "$here/$board/qemu.conf"

check='' broker='' broker_key='' name=$board icount='' stay='' pid_file='' machine_pid=''
while (($#)); do
  case $1 in
    --check) check=1; shift ;;
    --icount) icount=1; shift ;;
    --broker | --broker-key | --name | --key | --for | --pid-file)
      (($# > 1)) || die "$1 needs a value"
      case $1 in
        --broker) broker=$2 ;;
        --broker-key) broker_key=$2 ;;
        --name) name=$2 ;;
        --key) key=$2 ;;
        --for) stay=$2 ;;
        --pid-file) pid_file=$2 ;;
      esac
      shift 2
      ;;
    *) die "unknown option '$1' (--check, --broker, --broker-key, --name, --key, --icount, --for, --pid-file)" ;;
  esac
done
[[ -n $check || -n $broker ]] || die "--check, or --broker URL of a broker on this machine"
[[ -z $check || -z $broker ]] || die "--check brings a broker of its own: no --broker with it"
command -v "$program" >/dev/null || die "no $program here: ./dev setup emulate"
agent=${FETTLE_AGENT_FOLDER:-$root/build/agents}/$arch/fettle-agent
[[ -x $agent ]] || die "no agent at $agent: ./dev agents $arch"
[[ -x $fettle ]] || die "no fettle at $fettle: ./dev build"

image=$("$here/image.sh" "$board")
started=$(date +%s%N)
seconds() { awk -v from="$started" -v to="$(date +%s%N)" 'BEGIN { printf "%.1f", (to - from) / 1e9 }'; }

umask 077 # keys lie in here
run=$(mktemp -d "${TMPDIR:-/tmp}/fettle-emulate.XXXXXX")
pids=()
clean_up() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  # A machine that hangs in a device model does not hear SIGTERM.
  if [[ -n $machine_pid ]]; then kill -KILL "$machine_pid" 2>/dev/null || true; fi
  for pid in "${pids[@]}" $machine_pid; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$run"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

if [[ -n $check ]]; then
  export FETTLE_HOME=$run/home
  client=$("$fettle" keys new client 2>/dev/null)
  "$fettle" keys allow me "$client" --role client
fi
home=${FETTLE_HOME:-$HOME/.config/fettle}
# Let in before anyone dials.
[[ -f $home/$name.key ]] || "$fettle" keys new "$name" >/dev/null 2>&1 || die "cannot make a key pair '$name'"
"$fettle" keys allow "$name" "$(sed -n 's/^public //p' "$home/$name.key")" --role agent
if [[ -n $check ]]; then
  : >"$run/broker"
  "$fettle" broker --listen 'tcp://127.0.0.1:*' --json >"$run/broker" 2>"$run/broker.log" &
  pids+=($!)
  for ((i = 0; i < 200; ++i)); do
    broker=$(sed -n 's/.*"endpoint":"\([^"]*\)".*/\1/p' "$run/broker")
    if [[ -n $broker ]]; then break; fi
    sleep 0.05
  done
  [[ -n $broker ]] || die "the broker did not start: $(cat "$run/broker.log")"
fi
if [[ -z $broker_key ]]; then
  [[ -f $home/broker.key ]] || die "no broker of this account: name its key with --broker-key"
  broker_key=$(sed -n 's/^public //p' "$home/broker.key")
fi

# What this run adds to the image: agent, key and configuration. The kernel unpacks
# one archive after the other.
mkdir -p "$run"/{etc/fettle,var/lib/fettle,usr/bin}
chmod 755 "$run"/{etc,etc/fettle,var,var/lib,usr,usr/bin}
cp "$agent" "$run/usr/bin/fettle-agent"
cp "$home/$name.key" "$run/var/lib/fettle/agent.key"
cat >"$run/etc/fettle/agent.toml" <<TOML
broker = "${broker/#tcp:\/\/127.0.0.1:/tcp://10.0.2.2:}"
broker-key = "$broker_key"
key-file = "/var/lib/fettle/agent.key"
board-model = "$model"
emulated = true
${icount:+clock = \"instructions\"}
[[device]]
key = "$key"
TOML
(cd "$run" && find etc var usr -print0 | cpio --null -o -H newc --quiet -R 0:0) >"$run/overlay.cpio"
cat "$image/initramfs.cpio" "$run/overlay.cpio" >"$run/initramfs"

options=("${machine[@]}" -kernel "$image/kernel" -initrd "$run/initramfs" -display none
  -monitor none -no-reboot "${serial[@]}" -serial "file:$run/console"
  -append "console=$console quiet panic=-1 fettle.name=$name fettle.machine=$(printf %s "$name" | sha256sum | cut -c1-32)")
if [[ -f $image/board.dtb ]]; then options+=(-dtb "$image/board.dtb"); fi
if [[ -n $icount ]]; then options+=(-icount shift=0); fi
power_on() {
  "$program" "${options[@]}" >"$run/qemu.log" 2>&1 &
  machine_pid=$!
  switched_on=$SECONDS
}
# Power off as a switch does it: nothing in the machine is asked.
power_cycle() {
  kill -KILL "$machine_pid" 2>/dev/null || true
  wait "$machine_pid" 2>/dev/null || true
  power_on
  printf '%s was switched off and on\n' "$name"
}
power_on
trap power_cycle USR1
if [[ -n $pid_file ]]; then echo $$ >"$pid_file"; fi

show_devices() { "$fettle" devices --broker "$broker" --broker-key "$broker_key" "$@"; }
while ! show_devices --json 2>/dev/null | grep -q "\"hostname\":\"$name\""; do
  if ! kill -0 "$machine_pid" 2>/dev/null || (($(date +%s) * 1000000000 - started > limit * 1000000000)); then
    tail -n 20 "$run/qemu.log" "$run/console" >&2
    die "$name did not register within $(seconds) s"
  fi
  # QEMU's Zynq now and then sleeps for ever while it boots. Counted instructions take longer.
  if ((SECONDS - switched_on > (icount ? 4 * again : again))); then power_cycle; fi
  sleep 0.2
done
printf '%s registered as "%s" after %s s%s\n' "$name" "$key" "$(seconds)" "${icount:+, time in instructions}"
if [[ -n $check ]]; then
  show_devices
  exit 0
fi
echo "$name stays until Ctrl-C${stay:+, at most $stay s}"
for ((i = 0; ${#stay} == 0 || i < stay * 5; ++i)); do
  if ! kill -0 "$machine_pid" 2>/dev/null; then break; fi
  sleep 0.2
done
