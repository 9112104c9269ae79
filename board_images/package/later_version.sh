#!/usr/bin/env bash
# A package once more, as a later version, the agent's with a configuration of other words,
# to try upgrades with. Prints that version.
#
#   board_images/package/later_version.sh PACKAGE OUT
set -euo pipefail

package=${1:?usage: later_version.sh PACKAGE OUT} out=${2:?usage: later_version.sh PACKAGE OUT}
work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-later.XXXXXX")
trap 'rm -rf "$work"' EXIT
umask 022
dpkg-deb -R "$package" "$work/tree"
version=$(sed -n 's/^Version: //p' "$work/tree/DEBIAN/control")+later
sed -i "s/^Version: .*/Version: $version/" "$work/tree/DEBIAN/control"
if [[ -e $work/tree/etc/fettle ]]; then echo '# Another default.' >>"$work/tree/etc/fettle/agent.toml"; fi
dpkg-deb --root-owner-group -b "$work/tree" "$out" >/dev/null
printf '%s\n' "$version"
