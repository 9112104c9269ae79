#!/usr/bin/env bash
# Proves what fpga/rtl/proof states, with Yosys' own solver.   prove.sh
# Exit status 1 when a proof fails, 77 without Yosys.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v yosys >/dev/null; then echo "skipped: no yosys here (./dev setup)"; exit 77; fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0

# prove HOW NAME "FILES…" ["COMMANDS"]: HOW is `always`, by induction over time, or `cycles=N` from
# reset on. COMMANDS are Yosys', before and after the design is flattened, parted by |.
prove() {
  local how=$1 name=$2 files=$3 commands=${4:-} start=$SECONDS with
  case $how in
    always) with="-maxsteps 20" ;;
    cycles=*) with="-tempinduct-baseonly -maxsteps ${how#*=}" ;;
  esac
  if yosys -q -l "$log" -p "read_verilog -sv -formal $files proof/$name.sv
      ${commands%%|*}
      hierarchy -top $name; proc; flatten
      ${commands#*|}
      memory; opt -full
      sat -verify -tempinduct -prove-asserts -set-assumes $with" >/dev/null 2>&1; then
    printf '   proved (%s): %s %s, %d s\n' "$how" "$name" "${commands%%|*}" $((SECONDS - start))
  else
    printf '   FAILED: %s %s\n' "$name" "${commands%%|*}" >&2
    tail -n 60 "$log" >&2
    failed=1
  fi
}

prove always token_queue_proof queues/token_queue.sv \
  "|connect -set claimed queue.claimed; connect -set tokens queue.tokens"
prove always burst_splitter_proof axi/burst_splitter.sv \
  "|connect -set busy splitter.busy; connect -set in_row splitter.in_row"
queues="queues/fifo.sv queues/command_queue.sv memory/ram.sv"
prove cycles=20 queue_proof "$queues" "|"
prove cycles=20 queue_proof "$queues" "chparam -set IN_RAM 1 queue_proof|"
exit "$failed"
