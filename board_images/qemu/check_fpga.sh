#!/usr/bin/env bash
# The accelerator in an emulated Pynq's programmable logic (emulate.sh --fpga). From inside, before
# an agent runs: what Linux offers, both designs loaded and a stream run on each, the device's
# conformance suite, and files that are no bitstreams of this die. Then, for each design, a session: two
# layers of ResNet-18 are tuned through FPGA manager, registers and DMA, with one programming of the
# PL, and programs that must be refused are. Then the PL hangs, and (our core) is reset and loses its
# configuration in the middle of a run: those trials fail by name, and the next ones are measured.
# `./dev emulate pynq --fpga --check` builds what it needs and calls
#
#   board_images/qemu/check_fpga.sh BOARD [--trials N] [--out FOLDER]
#
#   --trials   of each session, over both layers (default 8)
#   --out      where the databases stay (default out/fpga/BOARD)
#
# Cycles are the simulator's estimate. Exit status 0 when all came true.
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"

board=${1:?usage: check_fpga.sh BOARD [--trials N] [--out FOLDER]}
shift
trials=8 out=$root/out/fpga/$board
while (($#)); do
  (($# > 1)) || die "$1 needs a value"
  case $1 in
    --trials) trials=$2 ;;
    --out) out=$2 ;;
    *) die "unknown option '$1' (--trials, --out)" ;;
  esac
  shift 2
done
need socat
key=$(board_value "$board" key)-vta
designs=$(board_value "$board" fpga_designs)
agents=${FETTLE_AGENT_FOLDER:-$root/build/agents}/$(board_value "$board" arch)
readonly agents
readonly bin=${FETTLE_PROGRAM%/*}
for program in fettle-pl-check fpga_conformance_test; do
  [[ -x $agents/$program ]] || die "no $agents/$program: ./dev emulate $board --fpga"
done
readonly sender=${FETTLE_ACCELERATOR_CHECK:-$bin/accelerator_check}
[[ -x $sender ]] || die "no $sender: ./dev build"

open_session fpga
own_keys
start_broker 'tcp://127.0.0.1:*'
mkdir -p "$out"
rm -f "$out"/*.db*

emulator=''
start_board() { # NAME DESIGN [OPTIONS…]
  local name=$1 design=$2
  shift 2
  FETTLE_EMULATE_LIMIT=300 "$here/qemu/emulate.sh" "$board" --fpga --design "$design" --broker "$broker" --broker-key "$broker_key" \
    --name "$name" --console "$run/$name.console" --monitor "$run/$name.monitor" "$@" >"$run/$name.log" 2>&1 &
  emulator=$!
  pids+=("$emulator")
}
await_board() { # NAME SECONDS
  until_true "$2" grep -qs 'registered as' "$run/$1.log" ||
    { tail -n 20 "$run/$1.log" "$run/$1.console" >&2; die "$1 did not register"; }
}
gone() {
  local listed
  listed=$("$fettle" devices --broker "$broker" --json 2>/dev/null) && [[ $listed != *"\"hostname\":\"$1\""* ]]
}
stop_board() { # NAME; the broker keeps a board for some seconds after its last word
  kill "$emulator" 2>/dev/null || true
  wait "$emulator" || true
  until_true 30 gone "$1" || die "the broker still has $1"
}

printf '== From inside\n'
readonly inside=$run/inside
mkdir -p "$inside"/{etc/fettle,usr/bin,lib/firmware/fettle}
chmod -R 755 "$inside"
cp "$agents"/{fettle-pl-check,fpga_conformance_test} "$inside/usr/bin/"
"$bin/fettle-emulated-bitstream" pynq "$inside/lib/firmware/fettle/whole.bit"
head -c 60000 "$inside/lib/firmware/fettle/whole.bit" >"$inside/lib/firmware/fettle/cut.bit"
LC_ALL=C sed 's/7z020clg400/7z010clg400/' "$inside/lib/firmware/fettle/whole.bit" >"$inside/lib/firmware/fettle/die.bit"
head -c 100000 /dev/urandom >"$inside/lib/firmware/fettle/noise.bit"
cat >"$inside/etc/fettle/before-agent" <<'SH'
#!/bin/sh
self_test() {
  fettle-agent --self-test --key x --device-kind vta --vta-core board --emulated --vta-bitstream "/lib/firmware/fettle/$1.bit" 2>&1
}
state=/sys/class/fpga_manager/fpga0/state
for file in cut die noise; do
  if said=$(self_test "$file"); then echo "   NO:  $file.bit was taken"; else
    echo "   yes: $file.bit is refused: $(echo "$said" | grep -i -m 1 bit)"
  fi
done
if [ "$(cat $state)" = operating ]; then echo "   NO:  one of them reached the PL"; else
  echo "   yes: the PL was not touched: $(cat $state)"
fi
fettle-pl-check
if FETTLE_EMULATED=1 FETTLE_BITSTREAM=/lib/firmware/fettle/pynq.bit fpga_conformance_test >/tmp/suite 2>&1; then
  echo "   yes: the devices' conformance suite: $(grep PASSED /tmp/suite)"
else
  echo "   NO:  the devices' conformance suite"
  grep -v -e ' OK ' -e RUN /tmp/suite | tail -n 30
fi
echo "that was all from inside"
SH
chmod 755 "$inside/etc/fettle/before-agent"
start_board inside pynq --overlay "$inside"
await_board inside 300
sed 's/\r$//' "$run/inside.console" >"$run/inside.lines"
sed -n '/^   \(yes: \|NO: \)/,$p' "$run/inside.lines" | sed '/that was all from inside/,$d'
if ! grep -qa 'that was all from inside' "$run/inside.lines" || grep -qa '^   NO: ' "$run/inside.lines"; then failed=1; fi
stop_board inside

tune() { # DESIGN TRIALS SECONDS
  "$fettle" tune "$here/qemu/two_vta_layers.json" --device "$key" --broker "$broker" --broker-key "$broker_key" \
    --trials "$2" --scheduler round-robin --searcher random --seed 1 --json --timeout "$3" --db "$out/$1.db"
}
all_right() { # FILE TRIALS: of a session with --json
  (($(grep -c '"event":"trial"' "$1") == $2)) && ! grep '"failure":' "$1"
}
programmings() { grep -ac 'fettle-fpga: .*: programmed ' "$run/$1.console" || true; }
programmed() { # NAME TIMES
  local times
  times=$(programmings "$1")
  echo "it was programmed $times times"
  ((times == $2))
}
send() { # WHAT: candidates of accelerator_check; false when one did not end as it must
  "$sender" "$broker" "$broker_key" "$key" "$1"
}
pl() { # NAME PROPERTY VALUE: what the board cannot do to itself
  echo "qom-set /machine/fettle-pl $2 $3" | socat - "unix-connect:$run/$1.monitor" >/dev/null
}
# In the middle of a run the PL is reset, or loses what it was configured for.
lose() { # NAME reset|erase
  local sending
  pl "$1" hang on
  send lost &
  sending=$!
  sleep 2
  pl "$1" "$2" on
  pl "$1" hang off
  wait "$sending" || failed=1
}

for design in ${designs//,/ }; do
  printf '== A session on %s\n' "$design"
  start_board "$design" "$design"
  await_board "$design" 120
  start=$SECONDS
  tune "$design" "$trials" 60 >"$run/$design.trials" 2>"$run/tune.log" || true
  see "$trials trials of two layers, every answer right ($((SECONDS - start)) s of this machine)" \
    all_right "$run/$design.trials" "$trials"
  echo "   (no board's speed: our core's cycles are the simulator's estimate, and the stock one, which counts none, is timed by the emulated clock)"
  sed -n 's/.*"stage_seconds":{\([^}]*\)}.*"trials_per_hour":\([0-9]*\).*/   \2 trials an hour of this machine; seconds by stage: \1/p' \
    "$run/$design.trials"
  "$fettle" records best --db "$out/$design.db"
  see "the PL was programmed once" programmed "$design" 1
  send refused || failed=1
  printf '== Faults of the PL\n'
  pl "$design" hang on
  send hung || failed=1
  pl "$design" hang off
  # The stock cores have no register that would tell.
  if [[ $design != vta-stock ]]; then
    lose "$design" reset
    lose "$design" erase
  fi
  send refused || failed=1
  sed -n 's/\r$//; s/^fettle-fpga: /        helper: /p' "$run/$design.console"
  stop_board "$design"
done
exit "$failed"
