#!/usr/bin/env bash
# Prints a zig compiler: it brings the C library of any version to build worker programs for old
# systems (worker.cmake). Taken from PyPI into ${FETTLE_CACHE:-~/.cache/fettle}/zig on first use.
# Exit status 3: it cannot be had here.
set -euo pipefail

readonly version=0.17.1
readonly at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/zig/$version

mkdir -p "$at"
exec 9>"$at/lock"
flock 9
if [[ ! -x $at/zig ]]; then
  log=$(mktemp)
  trap 'rm -rf "$log"' EXIT
  if ! { python3 -m venv "$at/venv" && "$at/venv/bin/pip" install -q "ziglang==$version"; } >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    echo "zig: PyPI's ziglang $version cannot be installed here" >&2
    exit 3
  fi
  program=$("$at/venv/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
  ln -sfn "$program" "$at/zig"
fi
printf '%s\n' "$at/zig"
