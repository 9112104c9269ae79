#!/usr/bin/env bash
# Prints a Python environment with cocotb and its models of AXI buses, which judge the accelerator's
# RTL (tests/rtl/buses). Versions: cocotb 2 wants a Verilator newer than Debian 12's. Exit status 3: it
# cannot be had here.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/pypi.sh"

readonly version=1.9.2 models=0.1.28
pypi_environment cocotb "$version" "cocotb==$version" "cocotbext-axi==$models"
