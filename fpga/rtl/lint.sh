#!/usr/bin/env bash
# Looks for what Verilator warns of in the RTL: nothing must be left.   lint.sh
# Exit status 1 on a warning, 77 without Verilator.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v verilator >/dev/null; then echo "skipped: no verilator here (./dev setup)"; exit 77; fi
modules=(core/vta_isa.sv)
for file in core/*.sv axi/*.sv queues/*.sv memory/*.sv compute/*.sv; do
  if [[ $file != core/vta_isa.sv ]]; then modules+=("$file"); fi
done
# The Pynq's parameters, and others: two rows of inputs, blocks of 8 and 32, other depths.
for parameters in "" \
  "-GBATCH=2 -GLOG_INP=10 -GLOG_WGT=9" \
  "-GBLOCK_IN=8 -GBLOCK_OUT=8 -GLOG_UOP=11 -GLOG_INP=12 -GLOG_ACC=10" \
  "-GBLOCK_IN=32 -GBLOCK_OUT=32 -GLOG_WGT=8 -GMAX_BEATS=64 -GLOG_READ_BUFFER=9"; do
  # shellcheck disable=SC2086
  verilator --lint-only -Wall lint.vlt "${modules[@]}" --top-module fettle_vta $parameters
done
verilator --lint-only -Wall --assert lint.vlt "${modules[@]}" check/*.sv --top-module verilated_core
verilator --lint-only -Wall lint.vlt "${modules[@]}" xrt/*.sv ../vivado/fettle_vta_kernel.v \
  --top-module fettle_vta_kernel
echo "   no warnings"
