#!/usr/bin/env bash
# A whole fleet on this machine: a broker, two emulated Pynqs, an emulated RK3399 and
# this machine's own agent. `./dev emulate --fleet` builds what it needs and calls it:
#
#   board_images/qemu/fleet.sh [--check] [--listen URL]
#
# Prints the devices when all have registered and stays until Ctrl-C; with --check it
# ends then, with exit status 0. Keys live in a folder of their own, so that the
# account's broker and keys are left alone; what is printed tells how to use it.
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"
readonly agents=${FETTLE_AGENT_FOLDER:-$root/build/agents}
readonly limit=${FETTLE_EMULATE_LIMIT:-120}

check='' listen='tcp://127.0.0.1:*' cycles=()
while (($#)); do
  case $1 in
    --check) check=1; shift ;;
    --listen) listen=${2:?--listen needs a URL}; shift 2 ;;
    *) die "unknown option '$1' (--check, --listen)" ;;
  esac
done
local_agent=$agents/$(uname -m | sed s/armv7l/armv7/)/fettle-agent
[[ -x $local_agent ]] || die "no agent at $local_agent: ./dev agents"

open_session fleet
own_keys

# Everyone is let in before anyone dials.
let_in() { "$fettle" keys allow "$1" "$("$fettle" keys new "$1" 2>/dev/null)" --role "$2"; }
let_in local agent
for board in pynq-1 pynq-2 rk3399-1; do let_in "$board" agent; done
# A board that stays silent is switched off and on; here that spoils no card. One that boots is
# silent, too, and takes longer where the machine is busy.
for board in pynq-1 pynq-2 rk3399-1; do
  cycles+=(--power-cycle "$board=kill -USR1 \$(cat '$run/$board.pid')")
done
start_broker "$listen" "${cycles[@]}" --power-cycle-after 30

"$local_agent" --broker "$broker" --broker-key "$broker_key" \
  --key-file "$FETTLE_HOME/local.key" --key local 2>"$run/local.log" &
pids+=($!)
for board in pynq-1 pynq-2 rk3399-1; do
  "$here/qemu/emulate.sh" "${board%-*}" --broker "$broker" --name "$board" \
    --pid-file "$run/$board.pid" >"$run/$board.log" 2>&1 &
  pids+=($!)
done

# Each of them: an agent that was started anew is there twice for some seconds.
start=$SECONDS
readonly everyone=("$(uname -n)" pynq-1 pynq-2 rk3399-1)
while true; do
  missing=()
  for name in "${everyone[@]}"; do registered "$name" || missing+=("$name"); done
  if ((!${#missing[@]})); then break; fi
  for pid in "${pids[@]}"; do
    if kill -0 "$pid" 2>/dev/null; then continue; fi
    tail -n 5 "$run"/*.log >&2
    die "a part of the fleet ended"
  done
  if ((SECONDS - start > limit)); then
    tail -n 5 "$run"/*.log >&2
    die "not registered within $limit s: ${missing[*]}"
  fi
  sleep 0.3
done
printf 'four devices after %d s\n' $((SECONDS - start))
"$fettle" devices --broker "$broker"
if [[ -n $check ]]; then exit 0; fi
printf '\nIn another shell:  export FETTLE_HOME=%s\n  build/bin/fettle tune resnet-18 --broker %s --device pynq\nCtrl-C ends the fleet.\n' \
  "$FETTLE_HOME" "$broker"
wait "${pids[@]:1}" || true
