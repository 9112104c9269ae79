#!/usr/bin/env bash
# Prints a Python environment with the schemas of Kubernetes' API, which judge the manifests of
# `fettle farm kubernetes`. Taken from PyPI into ${FETTLE_CACHE:-~/.cache/fettle}/kubernetes on first
# use. Exit status 3: it cannot be had here.
set -euo pipefail

readonly version=1.37.0
readonly at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/kubernetes/$version

mkdir -p "$at"
exec 9>"$at/lock"
flock 9
if [[ ! -e $at/complete ]]; then
  log=$(mktemp)
  trap 'rm -rf "$log"' EXIT
  rm -rf "$at/venv"
  if ! { python3 -m venv "$at/venv" &&
    "$at/venv/bin/pip" install -q "kubernetes-validate==$version"; } >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    echo "kubernetes_schemas: PyPI's kubernetes-validate $version cannot be installed here" >&2
    exit 3
  fi
  touch "$at/complete"
fi
printf '%s\n' "$at/venv"
