#!/usr/bin/env bash
# The core's buses before cocotb's models of AXI, which are nobody's of ours.
#
#   run.sh PROGRAM_FILES FOLDER    the program fettle-vta-program-files, and where to build
#
# Exit status 77 without Verilator or cocotb (toolchains/cocotb.sh), 1 when a test fails.
# FETTLE_BUS_PROGRAMS says how many random programs run (default 12).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
readonly root program_files=$1 folder=$2
readonly rtl=$root/fpga/rtl programs=${FETTLE_BUS_PROGRAMS:-12}

if ! command -v verilator >/dev/null; then echo "skipped: no verilator here (./dev setup)"; exit 77; fi
if ! venv=$("$root/toolchains/cocotb.sh"); then echo "skipped: no cocotb here"; exit 77; fi
cocotb=$("$venv/bin/python" -c 'import cocotb; print(cocotb.__path__[0])')

mkdir -p "$folder"
modules=()
for file in "$rtl"/{core,axi,queues,memory,compute,check}/*.sv; do
  if [[ $file != */vta_isa.sv ]]; then modules+=("$file"); fi
done
# Python sees the ports of the top module, nothing else.
printf '`verilator_config\npublic_flat_rw -module "verilated_core" -var "*_axi_*"\n' >"$folder/ports.vlt"
printf 'public_flat_rw -module "verilated_core" -var "clk"\n' >>"$folder/ports.vlt"
printf 'public_flat_rw -module "verilated_core" -var "resetn"\n' >>"$folder/ports.vlt"
printf 'public_flat_rw -module "verilated_core" -var "configuration_hash"\n' >>"$folder/ports.vlt"
OBJCACHE=$(command -v ccache || true) verilator --cc --exe --build -j 2 --quiet-exit --vpi --assert -O3 \
  --x-assign fast --x-initial fast --prefix Vtop -o buses --top-module verilated_core --Mdir "$folder/model" \
  -LDFLAGS "-Wl,-rpath,$cocotb/libs -L$cocotb/libs -lcocotbvpi_verilator" \
  -MAKEFLAGS "OPT_FAST=-O2 OPT_SLOW=-O0" "$folder/ports.vlt" "$rtl/core/vta_isa.sv" "${modules[@]}" \
  "$cocotb/share/lib/verilator/verilator.cpp" >"$folder/build.log" 2>&1 ||
  { tail -n 20 "$folder/build.log" >&2; exit 1; }

rm -rf "$folder/programs" "$folder/results.xml"
"$program_files" "$folder/programs" "$programs"
cd "$folder"
PYTHONPATH=$root/tests/rtl/buses:$(echo "$venv"/lib/python3*/site-packages) PYTHONDONTWRITEBYTECODE=1 \
  LIBPYTHON_LOC=$("$venv/bin/cocotb-config" --libpython) MODULE=test_buses TOPLEVEL=verilated_core \
  TOPLEVEL_LANG=verilog COCOTB_RESULTS_FILE=$folder/results.xml COCOTB_LOG_LEVEL=WARNING \
  FETTLE_BUS_PROGRAMS=$folder/programs RANDOM_SEED=20261123 ./model/buses
# The simulator's exit status does not tell: its report does.
"$venv/bin/python" "$root/tests/rtl/buses/judge.py" results.xml
