#!/usr/bin/env bash
# The core's buses against cocotb's AXI models (bus/bus_test.py), on Verilator. cocotb comes from
# PyPI into ${FETTLE_CACHE:-~/.cache/fettle}/cocotb on first use.   bus_test.sh [BUILD_FOLDER]
# Takes minutes. Exit status 77 where Verilator or cocotb cannot be had.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly packages=(cocotb==1.9.2 cocotbext-axi==0.1.28)
readonly at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/cocotb/1.9.2

if ! command -v verilator >/dev/null; then echo "skipped: no verilator here (./dev setup)"; exit 77; fi
mkdir -p "$at"
exec 9>"$at/lock"
flock 9
if [[ ! -e $at/complete ]]; then
  log=$(mktemp)
  if ! { python3 -m venv "$at/venv" && "$at/venv/bin/pip" install -q "${packages[@]}"; } >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    rm -f "$log"
    echo "skipped: PyPI's ${packages[*]} cannot be installed here"
    exit 77
  fi
  rm -f "$log"
  touch "$at/complete"
fi
flock -u 9

build=${1:-$(mktemp -d)}
if (($# == 0)); then trap 'rm -rf "$build"' EXIT; fi
PYTHONUNBUFFERED=1 RTL=$PWD BUILD=$build "$at/venv/bin/python" - <<'PYTHON'
import glob, os, sys
from cocotb.runner import get_runner

rtl, build = os.environ["RTL"], os.environ["BUILD"]
package = f"{rtl}/core/vta_isa.sv"
modules = [package] + sorted(
    file for folder in ("core", "axi", "queues", "memory", "compute")
    for file in glob.glob(f"{rtl}/{folder}/*.sv") if file != package)
sys.path.append(f"{rtl}/bus")  # the runner hands it on
runner = get_runner("verilator")
runner.build(verilog_sources=modules, hdl_toplevel="fettle_vta", build_dir=build, always=True,
             build_args=["-O3", "--x-assign", "fast", "--x-initial", "fast", "-Wno-fatal"])
results = runner.test(hdl_toplevel="fettle_vta", test_module="bus_test", build_dir=build)
text = open(results).read() if os.path.exists(results) else ""
sys.exit(1 if "<failure" in text or "<error" in text or "<testcase" not in text else 0)
PYTHON
