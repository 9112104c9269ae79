#!/usr/bin/env bash
# Prints a Python with the peers of whole networks (`fettle-bench networks`): onnxruntime, ncnn with
# pnnx, MNN, OpenVINO. Taken from PyPI into ${FETTLE_CACHE:-~/.cache/fettle}/network_peers on first
# use, half a GB. Versions are part of the folder's name. Exit status 3: they cannot be had here.
# With --onnxruntime: one that has that at least, which is a tenth of it.
set -euo pipefail

peers=(onnxruntime==1.32.0 ncnn==1.0.20261020 MNN==3.6.1 openvino==2026.4.1 numpy==2.4.6)
converter=pnnx==20261020 # its program only: its Python half wants PyTorch
if [[ ${1:-} == --onnxruntime ]]; then
  peers=("${peers[0]}" "${peers[4]}") converter=''
fi
versions=$(printf '%s\n' "${peers[@]}" "$converter" | sha256sum | cut -c1-12)
readonly at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/network_peers/$versions

mkdir -p "$at"
exec 9>"$at/lock"
flock 9
if [[ ! -e $at/complete ]]; then
  log=$(mktemp)
  trap 'rm -rf "$log"' EXIT
  rm -rf "$at/venv"
  if ! { python3 -m venv "$at/venv" &&
    "$at/venv/bin/pip" install -q "${peers[@]}" &&
    { [[ -z $converter ]] || "$at/venv/bin/pip" install -q --no-deps "$converter"; }; } >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    echo "network_peers: PyPI's ${peers[*]} $converter cannot be installed here" >&2
    exit 3
  fi
  touch "$at/complete"
fi
printf '%s\n' "$at/venv/bin/python"
