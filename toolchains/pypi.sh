# shellcheck shell=bash
# Sourced. Python environments with packages of PyPI, made at first use and kept.
#
#   pypi_environment NAME VERSIONS PACKAGE...
#
# Prints ${FETTLE_CACHE:-~/.cache/fettle}/NAME/VERSIONS/venv. Whole or not there, whoever else makes it.
# Ends the script with status 3 where the packages cannot be had.
pypi_environment() {
  local name=$1 at=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/$1/$2 log
  shift 2
  mkdir -p "$at"
  exec 9>"$at/lock"
  flock 9
  if [[ ! -e $at/complete ]]; then
    log=$(mktemp)
    rm -rf "$at/venv"
    if ! { python3 -m venv "$at/venv" && "$at/venv/bin/pip" install -q "$@"; } >"$log" 2>&1; then
      tail -n 3 "$log" >&2
      rm -f "$log"
      echo "$name: PyPI's $* cannot be installed here" >&2
      exit 3
    fi
    rm -f "$log"
    touch "$at/complete"
  fi
  printf '%s\n' "$at/venv"
}
