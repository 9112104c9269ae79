#!/usr/bin/env bash
# Fetches the distribution's XNNPACK for a foreign architecture, the peer of
# `fettle-bench instructions`, and unpacks it; installs nothing.
#
#   toolchains/xnnpack.sh aarch64|armv7
#
# It lies in ${FETTLE_CACHE:-~/.cache/fettle}/xnnpack/<arch>/usr; the path goes to
# stdout. Package lists of that architecture are kept beside it, so that the machine's
# own apt does not learn of another architecture.
set -euo pipefail

case ${1:-} in
  aarch64) readonly arch=aarch64 debian=arm64 ;;
  armv7) readonly arch=armv7 debian=armhf ;;
  *) printf 'usage: xnnpack.sh aarch64|armv7\n' >&2; exit 2 ;;
esac
readonly cache=${FETTLE_CACHE:-${HOME:-/root}/.cache/fettle}/xnnpack
readonly prefix=$cache/$arch
readonly packages=(libxnnpack-dev libxnnpack0 libpthreadpool-dev libpthreadpool0 libcpuinfo0)

die() { printf 'xnnpack: %s\n' "$*" >&2; exit 1; }

mkdir -p "$cache"
exec 9>"$cache/$arch.lock"
flock 9
if [[ ! -e $prefix/complete ]]; then
  work=$(mktemp -d "$cache/$arch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/root"
  cat >"$work/apt.conf" <<TEXT
APT::Architecture "$debian";
APT::Architectures { "$debian"; };
APT::Sandbox::User "";
Acquire::Retries "3";
Dir::State "$work/apt";
Dir::State::status "/dev/null";
Dir::Cache "$work/apt";
TEXT
  export APT_CONFIG=$work/apt.conf
  # A suite without this architecture fails alone: what counts is the download.
  apt-get -q update >"$work/log" 2>&1 || true
  (cd "$work/apt" && apt-get -q download "${packages[@]}") >>"$work/log" 2>&1 ||
    die "no XNNPACK for $debian: $(grep '^E:' "$work/log" | tail -n 2)"
  for package in "$work"/apt/*.deb; do dpkg-deb -x "$package" "$work/root"; done
  basename -a "$work"/apt/*.deb >"$work/root/complete"
  rm -rf "$prefix"
  mv "$work/root" "$prefix"
fi
printf '%s\n' "$prefix/usr"
