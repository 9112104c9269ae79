#!/usr/bin/env bash
# Puts the agent into a board's disk image, such as a stock PYNQ image (2.7 to 3.1),
# before it is written onto a card. The image is changed in place, without mounting it
# and without root:
#
#   board_images/add_agent.sh IMAGE --name NAME --broker URL [--broker-key Z85]
#                             [--package DEB] [--key DEVICE_KEY] [--set LINE]…
#
#   --name        the board: its key pair is made in $FETTLE_HOME where it is not there
#                 yet, let in by that account's broker, and goes into the image
#   --broker      where the board finds the broker: tcp://HOST:PORT, seen from the board
#   --broker-key  its public key (default: of this account's own broker)
#   --package     the agent's .deb (default: the armhf one of ./dev packages)
#   --key         the device key (default: the board recognises itself)
#   --set         one more line of the agent's configuration, such as 'pin-clocks = "max"'
#
# Where dpkg has installed the package already (debian/disk.sh --package), only
# configuration and key go in. Otherwise the package's files are copied, too, into the
# root file system (ext4, the image's largest Linux partition), and the service is
# enabled; the user that the package's installation makes is systemd's dynamic one then.
# The file system is checked before and after. Installing the package later replaces this.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly root=$here/..
readonly fettle=${FETTLE_PROGRAM:-$root/build/bin/fettle}

die() { printf 'add_agent: %s\n' "$*" >&2; exit 1; }

image=${1:?usage: add_agent.sh IMAGE --name NAME --broker URL …}
shift
name='' broker='' broker_key='' package='' key='' settings=()
while (($#)); do
  (($# > 1)) || die "$1 needs a value"
  case $1 in
    --name) name=$2 ;;
    --broker) broker=$2 ;;
    --broker-key) broker_key=$2 ;;
    --package) package=$2 ;;
    --key) key=$2 ;;
    --set) settings+=("$2") ;;
    *) die "unknown option '$1' (--name, --broker, --broker-key, --package, --key, --set)" ;;
  esac
  shift 2
done
[[ -f $image && -w $image ]] || die "$image is no image that can be written"
[[ -n $name && -n $broker ]] || die "--name and --broker are needed"
export PATH=$PATH:/sbin:/usr/sbin
for tool in debugfs e2fsck dpkg-deb; do
  command -v "$tool" >/dev/null || die "no $tool here (packages e2fsprogs, dpkg)"
done

umask 077
work=$(mktemp -d "${TMPDIR:-/tmp}/fettle-image.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Offset and size in bytes of the largest Linux partition (type 83) of the master boot
# record: four entries of 16 bytes from byte 446, type at 4, first sector at 8, sectors at 12.
read -r offset size < <(od -An -v -tu1 -w16 -j446 -N64 "$image" | awk '
  function word(at) { return $at + 256 * ($(at + 1) + 256 * ($(at + 2) + 256 * $(at + 3))) }
  $5 == 131 && word(13) > best { best = word(13); first = word(9) }
  END { if (best) printf "%d %d\n", first * 512, best * 512 }') ||
  die "$image has no Linux partition in a master boot record"
readonly part="$image?offset=$offset"

check() {
  local status=0
  e2fsck -f "$1" "$part" >"$work/check" 2>&1 || status=$?
  # 1: mended, as after a hard power-off
  ((status <= 1)) || { tail -n 5 "$work/check" >&2; die "the root file system of $image is damaged ($2)"; }
}
check -p "before anything was changed"
exists() { debugfs -R "stat $1" "$part" 2>&1 | grep -q '^Inode:'; }
exists /etc/os-release || exists /usr/lib/os-release || die "the largest Linux partition of $image (at byte $offset, $((size >> 20)) MiB) holds no root file system"
exists /lib/systemd/systemd || exists /usr/lib/systemd/systemd || die "$image has no systemd: start the agent in its own way"

# Its user's and group's ids, where dpkg installed the agent.
ids=$(debugfs -R 'cat /etc/passwd' "$part" 2>/dev/null | awk -F: '$1 == "fettle-agent" { print $3, $4 }')
if [[ -z $ids ]]; then
  if [[ -z $package ]]; then package=$(compgen -G "$root/build/packages/fettle-agent_*_armhf.deb" | tail -n 1) || true; fi
  [[ -f $package ]] || die "no package: ./dev packages armv7, or --package FILE"
elif [[ -n $package ]]; then
  die "$image has the agent's package already: leave out --package"
fi

# The board's key pair, and the broker's public key.
home=${FETTLE_HOME:-$HOME/.config/fettle}
[[ -f $home/$name.key ]] || "$fettle" keys new "$name" >/dev/null 2>&1 || die "cannot make a key pair '$name'"
"$fettle" keys allow "$name" "$(sed -n 's/^public //p' "$home/$name.key")" --role agent
if [[ -z $broker_key ]]; then
  [[ -f $home/broker.key ]] || die "this account has no broker yet: start it once, or name its key with --broker-key"
  broker_key=$(sed -n 's/^public //p' "$home/broker.key")
fi

# What goes in: "mode source target" lines, folders first.
mkdir "$work/files"
if [[ -z $ids ]]; then dpkg-deb -x "$package" "$work/files"; fi
cp "$home/$name.key" "$work/agent.key"
{
  printf 'broker = "%s"\nbroker-key = "%s"\nkey-file = "/var/lib/fettle/agent.key"\n' "$broker" "$broker_key"
  if ((${#settings[@]})); then printf '%s\n' "${settings[@]}"; fi
  if [[ -n $key ]]; then printf '[[device]]\nkey = "%s"\n' "$key"; fi
} >"$work/agent.toml"
printf '[Service]\nDynamicUser=yes\n' >"$work/image.conf"

commands=$work/commands
: >"$commands"
make_folder() { # PATH MODE: and those above it
  local path='' piece
  for piece in ${1//\// }; do
    path+=/$piece
    if exists "$path" || grep -qxF "mkdir $path" "$commands"; then continue; fi
    printf 'mkdir %s\nset_inode_field %s mode 040%s\n' "$path" "$path" "$2" >>"$commands"
  done
}
put() { # SOURCE TARGET MODE [UID GID]
  if exists "$2"; then printf 'rm %s\n' "$2" >>"$commands"; fi
  printf 'write %s %s\nset_inode_field %s mode 0100%s\nset_inode_field %s uid %s\nset_inode_field %s gid %s\n' \
    "$1" "$2" "$2" "$3" "$2" "${4:-0}" "$2" "${5:-0}" >>"$commands"
}
# The package's files but its configuration, which this board's replaces. /lib is a
# link to /usr/lib on newer systems, and debugfs follows it.
while read -r file; do
  make_folder "/${file%/*}" 755
  put "$work/files/$file" "/$file" "$(stat -c %a "$work/files/$file")"
done < <(cd "$work/files" && find . -type f ! -path './etc/*' -printf '%P\n' | sort)
make_folder /etc/fettle 755
make_folder /var/lib/fettle 700
put "$work/agent.toml" /etc/fettle/agent.toml 644
# shellcheck disable=SC2086  # two words, or none
put "$work/agent.key" /var/lib/fettle/agent.key 600 $ids
if [[ -z $ids ]]; then
  make_folder /etc/systemd/system/multi-user.target.wants 755
  make_folder /etc/systemd/system/fettle-agent.service.d 755
  put "$work/image.conf" /etc/systemd/system/fettle-agent.service.d/image.conf 644
  wanted=/etc/systemd/system/multi-user.target.wants/fettle-agent.service
  exists "$wanted" || printf 'symlink %s /lib/systemd/system/fettle-agent.service\n' "$wanted" >>"$commands"
fi

debugfs -w -f "$commands" "$part" >"$work/debugfs.log" 2>&1 || { cat "$work/debugfs.log" >&2; die "cannot write into $image"; }
# debugfs tells its failures in words only. A full file system is the likely one.
if grep -vE '^debugfs|^Allocated inode|^$' "$work/debugfs.log" | grep -E '[Nn]o (space|free)|[Ff]ail|not found|No such|error' >&2; then
  die "the agent is not whole in $image: take a fresh copy of it"
fi
written=("$work/files/usr/bin/fettle-agent" /usr/bin/fettle-agent)
if [[ -n $ids ]]; then written=("$work/agent.toml" /etc/fettle/agent.toml); fi
debugfs -R "dump ${written[1]} $work/back" "$part" >/dev/null 2>&1
cmp -s "$work/back" "${written[0]}" || die "the agent is not whole in $image: take a fresh copy of it"
check -n "after the agent was put in"
printf '%s: agent, service and the key of "%s" are in; its broker is %s\n' "$image" "$name" "$broker"
