#!/usr/bin/env bash
# What CUDA devices need where the CUDA toolkit is not installed, from PyPI: ptxas, NVRTC with its
# headers, and cuda.h, which agents are built with (cmake/cuda_headers.cmake). Two toolkits: 12.9
# knows Maxwell to Volta (sm_53, 62, 72), which 13.0 has dropped, and 13.0 knows sm_110. They lie in
#   ${FETTLE_CACHE:-~/.cache/fettle}/cuda/VERSION/{bin,lib,include}
# where fettle looks for them. Finds out at once that nothing is missing. Exit status 3: they cannot
# be had here.
set -euo pipefail

readonly at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/cuda

# toolkit VERSION FOLDERS PACKAGE…: FOLDERS are those of the packages below site-packages.
toolkit() {
  local version=$1 folders=$2 made log kind folder file
  shift 2
  if [[ -e $at/$version/complete ]]; then return; fi
  made=$(mktemp -d "$at/$version.XXXXXX")
  log=$made/log
  echo "== CUDA $version from PyPI: $*"
  if ! { python3 -m venv "$made/venv" && "$made/venv/bin/pip" install -q --no-deps "$@"; } >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    rm -rf "$made"
    echo "cuda: PyPI's $* cannot be installed here; lost: CUDA devices of agents, cubins for them, and kernels in CUDA C++" >&2
    exit 3
  fi
  for kind in bin lib include; do
    mkdir "$made/$kind"
    for folder in $folders; do
      for file in "$made"/venv/lib/python3*/site-packages/nvidia/"$folder/$kind"/*; do
        if [[ -e $file ]]; then mv "$file" "$made/$kind/"; fi
      done
    done
  done
  rm -rf "$made/venv" "$log"
  if ! "$made/bin/ptxas" --version >/dev/null; then
    rm -rf "$made"
    echo "cuda: the ptxas of PyPI's CUDA $version does not run here" >&2
    exit 3
  fi
  touch "$made/complete"
  rm -rf "${at:?}/$version"
  mv "$made" "$at/$version"
}

mkdir -p "$at"
exec 9>"$at/lock"
flock 9
toolkit 12.9 cuda_nvcc nvidia-cuda-nvcc-cu12==12.9.86
toolkit 13.0 cu13 nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-runtime==13.0.96 \
  nvidia-cuda-crt==13.0.88
