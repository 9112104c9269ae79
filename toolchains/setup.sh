#!/usr/bin/env bash
# Installs what building, testing and checking fettle needs (packages.txt), and the
# agents' static libraries.   setup.sh [emulate] [fpga] [fuzz] [tidy] [cuda]
# Finds out within a second that nothing is missing. Exit status 1 only when a
# build is impossible; what is merely lost is said.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
groups=" need agent test speed lint $* "
export DEBIAN_FRONTEND=noninteractive
readonly apt_options=(-q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)

say() { printf '%s\n' "$*"; }
say_seconds() { printf '   %s: %d s\n' "$1" $((SECONDS - $2)); }

declare -A group_of lost_without
wanted=()
while read -r group package reason; do
  if [[ -z $group || $group == \#* || $groups != *" $group "* ]]; then continue; fi
  wanted+=("$package")
  group_of[$package]=$group
  lost_without[$package]=$reason
done <"$here/packages.txt"

# Fills `missing` with the entries of `wanted` that no installed package serves.
find_missing() {
  local installed entry name
  local -A have=()
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 2>/dev/null | sed -n 's/^ii *//p')
  while read -r name; do have[$name]=1; done <<<"$installed"
  missing=()
  for entry in "${wanted[@]}"; do
    for name in ${entry//|/ }; do
      if [[ -n ${have[$name]:-} ]]; then continue 2; fi
    done
    missing+=("$entry")
  done
}

# The first name of `a|b` that apt can install; the last one when it knows none, so
# that the message names something.
pick() {
  local name
  for name in ${1//|/ }; do
    if [[ $(apt-cache policy "$name") == *"Candidate: "[!\(]* ]]; then break; fi
  done
  printf '%s\n' "$name"
}

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo -E "$@"; fi
}

update_lists() { as_root apt-get "${apt_options[@]}" update >>"$log" 2>&1; }

# Services among them (PostgreSQL, Slurm) are not started: tests start their own.
readonly service_policy=/usr/sbin/policy-rc.d
install_packages() (
  if [[ ! -e $service_policy ]]; then
    trap 'as_root rm -f "$service_policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$service_policy" >/dev/null
    as_root chmod 755 "$service_policy"
  fi
  as_root apt-get "${apt_options[@]}" install -y --no-install-recommends "$@" >>"$log" 2>&1
)

install_missing() {
  local names=() entry start=$SECONDS
  say "== Installing ${#missing[@]} packages (log: $log)"
  update_lists || { say "   apt-get update failed, again in 15 s"; sleep 15; update_lists || true; }
  say_seconds "package lists" "$start"
  for entry in "${missing[@]}"; do names+=("$(pick "$entry")"); done
  start=$SECONDS
  if ! install_packages "${names[@]}"; then
    say "   a package did not come, again in 15 s"
    sleep 15
    update_lists || true
    # One package the mirror lacks must not cost all others.
    install_packages "${names[@]}" ||
      for entry in "${names[@]}"; do install_packages "$entry" || true; done
  fi
  say_seconds "packages" "$start"
}

report_missing() {
  local entry fatal=0
  for entry in "${missing[@]}"; do
    printf '   could not get %-26s lost: %s\n' "$entry" "${lost_without[$entry]}" >&2
    if [[ ${group_of[$entry]} == need ]]; then fatal=1; fi
  done
  if ((fatal)); then
    say "setup: fettle cannot be built on this machine as it is; apt's own words end $log:" >&2
    grep -E '^(E|W|Err)[: ]' "$log" 2>/dev/null | tail -n 8 >&2 || true
    exit 1
  fi
}

setup_packages() {
  find_missing
  if ((${#missing[@]} == 0)); then return; fi
  if ! command -v apt-get >/dev/null; then
    # Another distribution may have it all under other names: let the build find out.
    say "setup: no apt-get here. Under Debian's names, fettle needs: ${missing[*]}" >&2
    return
  fi
  if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
    say "setup: ${missing[*]} must be installed: run ./dev setup as root (there is no sudo here)" >&2
    exit 1
  fi
  log=$(mktemp /tmp/fettle-setup.XXXXXX.log)
  install_missing
  find_missing
  if ((${#missing[@]})); then report_missing; else rm -f "$log"; fi
}

# An agent that cannot be made is a loss, not the end: host programs still build.
setup_agent_libraries() {
  local arch prefix status start
  for arch in x86_64 aarch64 armv7; do
    prefix=$("$here/agent_deps.sh" "$arch" --print 2>/dev/null) || prefix=
    if [[ -n $prefix && -e $prefix/complete && $prefix -ef ${prefix%/*}/current ]]; then continue; fi
    say "== Static libraries of the $arch agent"
    start=$SECONDS
    status=0
    "$here/agent_deps.sh" "$arch" >/dev/null || status=$?
    case $status in
      0) say_seconds "$arch" "$start" ;;
      3) say "   lost: the agents whose libraries are not there yet" >&2; return ;;
      *) say "   could not make them; lost: the $arch agent" >&2 ;;
    esac
  done
}

log=/dev/null
setup_packages
setup_agent_libraries
if [[ $groups == *" cuda "* ]]; then "$here/cuda.sh"; fi
