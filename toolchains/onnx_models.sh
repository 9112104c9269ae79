#!/usr/bin/env bash
# Prints the folder of ONNX's larger test models (light_*: well-known networks whose weights are made
# by operators), which Debian's libonnx-testdata lacks. Taken from PyPI's package onnx into
# ${FETTLE_CACHE:-~/.cache/fettle}/onnx_models on first use. Exit status 3: it cannot be had here.
set -euo pipefail

readonly version=1.17.0
readonly at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/onnx_models/$version
readonly folder=onnx/backend/test/data/light

mkdir -p "$at"
exec 9>"$at/lock"
flock 9
if [[ ! -e $at/complete ]]; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  if ! { python3 -m pip download -q --no-deps -d "$scratch" "onnx==$version" &&
    python3 -m zipfile -e "$scratch"/onnx-*.whl "$scratch/package" &&
    cp -r "$scratch/package/$folder" "$at/"; } >"$scratch/log" 2>&1; then
    tail -n 3 "$scratch/log" >&2
    echo "onnx_models: PyPI's onnx $version cannot be had here" >&2
    exit 3
  fi
  touch "$at/complete"
fi
printf '%s\n' "$at/light"
