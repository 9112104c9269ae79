#!/usr/bin/env bash
# Prints a Python environment with cocotb and its models of AXI buses, which judge the accelerator's
# RTL (tests/rtl/buses). Taken from PyPI into ${FETTLE_CACHE:-~/.cache/fettle}/cocotb on first use.
# Versions: cocotb 2 wants a Verilator newer than Debian 12's. Exit status 3: it cannot be had here.
set -euo pipefail

readonly version=1.9.2 models=0.1.28
readonly at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/cocotb/$version

mkdir -p "$at"
exec 9>"$at/lock"
flock 9
if [[ ! -e $at/complete ]]; then
  log=$(mktemp)
  trap 'rm -rf "$log"' EXIT
  rm -rf "$at/venv"
  if ! { python3 -m venv "$at/venv" &&
    "$at/venv/bin/pip" install -q "cocotb==$version" "cocotbext-axi==$models"; } >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    echo "cocotb: PyPI's cocotb $version cannot be installed here" >&2
    exit 3
  fi
  touch "$at/complete"
fi
printf '%s\n' "$at/venv"
