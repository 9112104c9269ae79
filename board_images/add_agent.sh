#!/usr/bin/env bash
# Puts the agent into a board's root file system before the board has it: a disk image, such
# as a stock PYNQ image (2.7 to 3.1), that is changed in place without mounting it and without
# root, or a folder, such as the rootfs folder of NVIDIA's Linux_for_Tegra before flash.sh:
#
#   board_images/add_agent.sh IMAGE|FOLDER --name NAME --broker URL [--broker-key Z85]
#                             [--package DEB] [--key DEVICE_KEY] [--device KEY=KIND]… [--set LINE]…
#
#   --name        the board: its key pair is made in $FETTLE_HOME where it is not there
#                 yet, let in by that account's broker, and goes in
#   --broker      where the board finds the broker: tcp://HOST:PORT, seen from the board
#   --broker-key  its public key (default: of this account's own broker)
#   --package     the agent's .deb (default: of ./dev packages, for the target's own
#                 architecture)
#   --key         the device key (default: the board recognises itself)
#   --device      one more device of the board, such as rk3399-mali=opencl
#   --set         one more line of the agent's configuration, such as 'pin-clocks = "max"'
#
# Where dpkg has installed the package already (debian/disk.sh --package), only
# configuration and key go in. Otherwise the package's files are copied, too, and the
# service is enabled; the user that the package's installation makes is systemd's dynamic
# one then; the package, installed on the board later, makes its own of it and keeps the key.
# Debian cards of ours also take NAME as their host name. An image's root file system (ext4,
# its largest Linux partition) is checked before and after; only its owner can read the image
# then, for the key's sake. Into a folder of root's, as L4T's is, this script writes by sudo;
# run it as yourself, whose keys are meant.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly root=$here/..
# In a clone, or where the host's package lies: beside bin/ and packages/.
build=$root
if [[ -d $root/build ]]; then build=$root/build; fi
readonly build
readonly fettle=${FETTLE_PROGRAM:-$build/bin/fettle}
# shellcheck source=board_images/board_key.sh
source "$here/board_key.sh"

die() { printf 'add_agent: %s\n' "$*" >&2; exit 1; }
# A value as a string of TOML, whatever stands in it.
toml_string() {
  local text=${1//\\/\\\\}
  printf '"%s"' "${text//\"/\\\"}"
}

target=${1:?usage: add_agent.sh IMAGE|FOLDER --name NAME --broker URL …}
shift
name='' broker='' broker_key='' package='' key='' settings=() devices=()
while (($#)); do
  (($# > 1)) || die "$1 needs a value"
  case $1 in
    --name) name=$2 ;;
    --broker) broker=$2 ;;
    --broker-key) broker_key=$2 ;;
    --package) package=$2 ;;
    --key) key=$2 ;;
    --device) [[ $2 == ?*=?* ]] || die "--device takes KEY=KIND, not '$2'"; devices+=("$2") ;;
    --set) settings+=("$2") ;;
    *) die "unknown option '$1' (--name, --broker, --broker-key, --package, --key, --device, --set)" ;;
  esac
  shift 2
done
[[ -n $name && -n $broker ]] || die "--name and --broker are needed"
for value in "$name" "$broker" "$broker_key" "$key" "${devices[@]}" "${settings[@]}"; do
  # A line of its own could be any setting.
  [[ $value != *[[:cntrl:]]* ]] || die "$(printf '%q' "$value") has a control character in it"
done
command -v dpkg-deb >/dev/null || die "no dpkg-deb here (package dpkg)"

umask 077
work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-image.XXXXXX")
trap 'rm -rf "$work"' EXIT

# What differs between the two: open_target, exists PATH, is_link PATH, owner_of PATH,
# print_file PATH, and write_tree, which brings in the tree $work/files, whose key is that of
# user and group $ids.
if [[ -d $target ]]; then
  # shellcheck source=board_images/write_folder.sh
  source "$here/write_folder.sh"
else
  # shellcheck source=board_images/write_image.sh
  source "$here/write_image.sh"
fi
open_target
exists /etc/os-release || exists /usr/lib/os-release || die "$target holds no root file system"
exists /lib/systemd/systemd || exists /usr/lib/systemd/systemd || die "$target has no systemd: start the agent in its own way"

# What its programs are made for: ELF's e_machine.
machine=$(print_file /lib/systemd/systemd | od -An -v -tx1 -j18 -N2) || true
case $machine in
  ' 28 00') debian=armhf ;;
  ' b7 00') debian=arm64 ;;
  ' 3e 00') debian=amd64 ;;
  *) die "$target's systemd is made for no architecture of the agent's (armhf, arm64, amd64)" ;;
esac

# Its user's and group's ids, where dpkg installed the agent.
ids=$(print_file /etc/passwd | awk -F: '$1 == "fettle-agent" { print $3, $4 }')
readonly installed=$ids
if [[ -z $installed ]]; then
  if [[ -z $package ]]; then package=$(compgen -G "$build/packages/fettle-agent_*_$debian.deb" | sort -V | tail -n 1) || true; fi
  [[ -f $package ]] || die "no package for $debian: ./dev packages, or --package FILE"
  made_for=$(dpkg-deb -f "$package" Architecture)
  [[ $made_for == "$debian" ]] || die "$package is made for $made_for, $target for $debian"
elif ! exists /usr/bin/fettle-agent; then
  die "the agent's package was removed from $target, but not purged: its service is masked until dpkg --purge fettle-agent"
elif [[ -n $package ]]; then
  die "$target has the agent's package already: leave out --package"
fi
# Where the service has run as systemd's dynamic user, its state has moved, and whose it is
# has to stay.
state=var/lib/fettle
if is_link "/$state"; then
  state=var/lib/private/fettle
  exists "/$state" || die "/var/lib/fettle is a link in $target, but not to a /var/lib/private/fettle that can be read"
  ids=$(owner_of "/$state")
fi

# The board's key pair, and the broker's public key.
home=${FETTLE_HOME:-$HOME/.config/fettle}
allow_board_key "$home" "$name"
if [[ -z $broker_key ]]; then
  [[ -f $home/broker.key ]] || die "this account has no broker yet: start it once, or name its key with --broker-key"
  broker_key=$(sed -n 's/^public //p' "$home/broker.key")
fi

# The package's files but its configuration, which this board's replaces.
readonly files=$work/files units=etc/systemd/system
mkdir -p "$files"
if [[ -z $installed ]]; then
  dpkg-deb -x "$package" "$files"
  rm -rf "${files:?}/etc"
  mkdir -p "$files/$units"/{multi-user,sockets}.target.wants "$files/$units/fettle-agent.service.d"
  printf '[Service]\nDynamicUser=yes\n' >"$files/$units/fettle-agent.service.d/image.conf"
  ln -s /lib/systemd/system/fettle-agent.service "$files/$units/multi-user.target.wants/fettle-agent.service"
  ln -s /lib/systemd/system/fettle-fpga.socket "$files/$units/sockets.target.wants/fettle-fpga.socket"
fi
mkdir -p "$files"/{etc/fettle,"$state"}
{
  printf 'broker = %s\nbroker-key = %s\nkey-file = "/var/lib/fettle/agent.key"\n' \
    "$(toml_string "$broker")" "$(toml_string "$broker_key")"
  if ((${#settings[@]})); then printf '%s\n' "${settings[@]}"; fi
  if [[ -n $key ]]; then printf '[[device]]\nkey = %s\n' "$(toml_string "$key")"; fi
  for device in "${devices[@]}"; do
    printf '[[device]]\nkey = %s\ndevice-kind = %s\n' \
      "$(toml_string "${device%%=*}")" "$(toml_string "${device#*=}")"
  done
} >"$files/etc/fettle/agent.toml"
# A card of debian/disk.sh, known by its /etc/hosts, is called as its key is.
if [[ $(print_file /etc/hosts) == "127.0.0.1 localhost $(print_file /etc/hostname)" ]]; then
  printf '%s\n' "$name" >"$files/etc/hostname"
  printf '127.0.0.1 localhost %s\n' "$name" >"$files/etc/hosts"
fi
find "$files/etc" "$files/var" -type d -exec chmod 755 {} +
find "$files/etc" -type f -exec chmod 644 {} +
chmod 700 "$files/$state"
cp "$home/$name.key" "$files/$state/agent.key" # mode 600, by umask
write_tree
printf '%s: agent, service and the key of "%s" are in; its broker is %s\n' "$target" "$name" "$broker"
