# What the scripts of this folder share. To be sourced as the first thing that they do:
#   $here, $root, $fettle      board_images, the tree, the host program
#   $run, $broker, $broker_key what open_session and start_broker set; $pids, processes
#                              that end with the script
#   die WORDS…                 the script's end, with exit status 1
#   linux_partition IMAGE, need TOOL…, board_value BOARD NAME, agent_package ARCH, as_board_sees URL
# One run's own broker on loopback, and its keys:
#   open_session NAME          $run, a folder for the run's files that goes with it
#   own_keys                   $FETTLE_HOME is a folder of the run's own, with a client
#   start_broker URL [OPTIONS…]   listens there; sets $broker, its address, and $broker_key
#   registered NAME            true when that host name is among the broker's devices
#   until_true SECONDS COMMAND…   tries again until it is true, or the time has passed
# A board reached by ssh, and what is seen there:
#   ssh_key                    makes $run/ssh_key, of whoever may log in
#   ssh_to PORT COMMAND…       as root of the board whose ssh that port of loopback leads to;
#                              $ssh_words are the command and its options
#   see WHAT COMMAND…          prints whether it came true; else $failed is 1
# shellcheck shell=bash disable=SC2034
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly here
readonly root=$here/..
export FETTLE_PROGRAM=${FETTLE_PROGRAM:-$root/build/bin/fettle}
readonly fettle=$FETTLE_PROGRAM
# shellcheck source=board_images/linux_partition.sh
source "$here/linux_partition.sh"
run='' broker='' broker_key='' pids=() ssh_words=() failed=0

die() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; exit 1; }

need() {
  local tool
  for tool in "$@"; do command -v "$tool" >/dev/null || die "no $tool here: ./dev setup emulate"; done
}

board_value() {
  [[ -f $here/$1/qemu.conf ]] || die "no emulation of '$1'"
  sed -n "s/^$2=//p" "$here/$1/qemu.conf"
}

agent_package() {
  compgen -G "${FETTLE_PACKAGES:-$root/build/packages}/fettle-agent_*_$1.deb" | sort -V | tail -n 1 ||
    die "no agent's package for $1: ./dev packages"
}

# QEMU's own network shows this machine's loopback at 10.0.2.2; a wildcard is there, too.
as_board_sees() {
  local port=${1##*:}
  case ${1%:*} in
    tcp://127.0.0.1 | tcp://localhost | tcp://0.0.0.0 | tcp://'[::1]' | tcp://'[::]' | tcp://'*')
      printf 'tcp://10.0.2.2:%s\n' "$port" ;;
    *) printf '%s\n' "$1" ;;
  esac
}

open_session() {
  umask 077 # keys lie in here
  run=$(mktemp -d "${TMPDIR:-/tmp}/fettle-$1.XXXXXX")
  trap end_session EXIT
  trap 'exit 130' INT TERM
}

end_session() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$run"
}

own_keys() {
  export FETTLE_HOME=$run/home
  "$fettle" keys allow me "$("$fettle" keys new client 2>/dev/null)" --role client
}

start_broker() {
  local i
  : >"$run/broker"
  "$fettle" broker --json --listen "$@" >"$run/broker" 2>"$run/broker.log" &
  pids+=($!)
  for ((i = 0; i < 200; ++i)); do
    broker=$(sed -n 's/.*"endpoint":"\([^"]*\)".*/\1/p' "$run/broker")
    if [[ -n $broker ]]; then break; fi
    sleep 0.05
  done
  [[ -n $broker ]] || die "the broker did not start: $(cat "$run/broker.log")"
  broker_key=$(sed -n 's/^public //p' "$FETTLE_HOME/broker.key")
}

# Reads all of what is listed: whoever writes to a reader that is gone fails.
registered() { "$fettle" devices --broker "$broker" --json 2>/dev/null | grep "\"hostname\":\"$1\"" >/dev/null; }

until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    if ((SECONDS > end)); then return 1; fi
    sleep 0.3
  done
}

# An emulated board is nobody else's: its host key is made at its first start.
ssh_key() {
  ssh-keygen -q -t ed25519 -N '' -f "$run/ssh_key"
  ssh_words=(ssh -q -i "$run/ssh_key" -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no
    -o ConnectTimeout=10 -o BatchMode=yes)
}
ssh_to() {
  local port=$1
  shift
  timeout 120 "${ssh_words[@]}" -p "$port" root@127.0.0.1 "$@"
}

see() {
  local what=$1
  shift
  if "$@" >"$run/last" 2>&1; then
    printf '   yes: %s\n' "$what"
  else
    printf '   NO:  %s\n' "$what"
    tail -n 5 "$run/last" | sed 's/^/        /'
    failed=1
  fi
}
