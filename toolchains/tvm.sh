#!/usr/bin/env bash
# Prints a Python with TVM and its meta_schedule, the peer of `fettle-bench tvm`. Taken from PyPI into
# ${FETTLE_CACHE:-~/.cache/fettle}/tvm on first use, 1.4 GB. Versions are part of the folder's name. Exit
# status 3: it cannot be had here.
set -euo pipefail

# With apache-tvm-ffi 0.1.15 this TVM crashes when it writes a graph as JSON; its cost model takes no
# XGBoost 3.
packages=(apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post0 'xgboost<3' numpy psutil cloudpickle tornado)
versions=$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c1-12)
readonly at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/tvm/$versions

mkdir -p "$at"
exec 9>"$at/lock"
flock 9
if [[ ! -e $at/complete ]]; then
  log=$(mktemp)
  trap 'rm -rf "$log"' EXIT
  rm -rf "$at/venv"
  if ! { python3 -m venv "$at/venv" && "$at/venv/bin/pip" install -q "${packages[@]}"; } >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    echo "tvm: PyPI's ${packages[*]} cannot be installed here" >&2
    exit 3
  fi
  touch "$at/complete"
fi
printf '%s\n' "$at/venv/bin/python"
