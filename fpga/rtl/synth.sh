#!/usr/bin/env bash
# Synthesises the core for the Zynq-7020 with Yosys and holds what it takes to what is there.
#   synth.sh [REPORT]   REPORT is Yosys' log (default: none is kept)
# Takes minutes. No place and route, so nothing is said about the clock. Exit status 1 when it does
# not fit or a latch is there, 77 without Yosys.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v yosys >/dev/null; then echo "skipped: no yosys here (./dev setup)"; exit 77; fi
log=${1:-$(mktemp)}
if (($# == 0)); then trap 'rm -f "$log"' EXIT; fi
modules=(core/vta_isa.sv)
for file in core/*.sv axi/*.sv queues/*.sv memory/*.sv compute/*.sv; do
  if [[ $file != core/vta_isa.sv ]]; then modules+=("$file"); fi
done
if ! yosys -q -l "$log" -p "read_verilog -sv ${modules[*]}
    synth_xilinx -family xc7 -top fettle_vta -flatten
    check -assert
    tee -a $log stat" >/dev/null 2>&1; then
  tail -n 20 "$log" >&2
  exit 1
fi

# cells PATTERN: how many cells of the last table of the log have such a name.
cells() {
  awk -v pattern="^($1)\$" '/Number of cells:/ { n = 0 } NF == 2 && $1 ~ pattern { n += $2 } END { print n + 0 }' "$log"
}
lut=$(cells 'LUT[1-6]')
memory_lut=$(($(cells 'RAM32M') * 4 + $(cells 'RAM64M') * 4 + $(cells 'RAM128X1D') * 4 +
  $(cells 'RAM32X1D|RAM64X1D') * 2 + $(cells 'SRL16E|SRLC32E')))
flip_flops=$(cells 'FD[RCSP]E')
dsp=$(cells 'DSP48E1')
half_bram=$(($(cells 'RAMB36E1') * 2 + $(cells 'RAMB18E1')))
latches=$(cells 'LD[CP]E')

failed=0
row() { # NAME USED THERE
  printf '   %-22s %7s of %7s  %3d %%\n' "$1" "$2" "$3" $((100 * $2 / $3))
  if (($2 > $3)); then failed=1; fi
}
echo "On a Zynq-7020 (xc7z020), by Yosys' synth_xilinx:"
row LUT $((lut + memory_lut)) 53200
row "  of these as memory" "$memory_lut" 17400
row "flip-flops" "$flip_flops" 106400
row DSP48E1 "$dsp" 220
row "RAMB18 (half a BRAM)" "$half_bram" 280
echo "   latches: $latches"
if ((latches)); then failed=1; fi
exit "$failed"
