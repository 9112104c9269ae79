#!/usr/bin/env bash
# The packages of this machine's architecture, the host's and the agent's, in a fresh system
# of this machine's own release that holds nothing but what they depend on. No systemd runs
# there: that the service starts is check_package.sh's, on emulated boards. Needs root.
# `./dev packages --check` builds what it needs and calls it.
#
#   board_images/package/check_packages.sh
#
# Installs both, tunes from /usr on a local agent, lets the installed agent register with the
# installed broker, upgrades, removes, purges, and prints a line for each thing looked at.
# Exit status 0 when all of them came true.
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/../qemu/session.sh"

[[ $(id -u) == 0 ]] || die "a chroot needs root"
need mmdebstrap dpkg-deb unshare ip
arch=$(dpkg --print-architecture)
agent=$(agent_package "$arch")
host=$(compgen -G "${FETTLE_PACKAGES:-$root/build/packages}/fettle_*_$arch.deb" | tail -n 1) ||
  die "no host package for $arch: ./dev packages host"
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/{debian,ubuntu}.sources; do
  if [[ -s $file ]]; then sources=("$file"); fi
done

open_session packages
readonly system=$run/system
umask 022
# The names in a Depends: without versions, the first of alternatives.
depends=$(for package in "$host" "$agent"; do dpkg-deb -f "$package" Depends; echo; done |
  tr ',' '\n' | sed 's/[(|].*//; s/ //g; /^$/d' | sort -u | paste -sd,)
printf '== A fresh %s with what the packages depend on\n   %s\n' "$suite" "$depends"
mmdebstrap --quiet --variant=minbase --include="$depends" "$suite" "$system" "${sources[@]}" >"$run/log" 2>&1 ||
  { tail -n 20 "$run/log" >&2; die "could not make the system"; }
cp "$agent" "$system/agent.deb"
cp "$host" "$system/host.deb"
cp "$here/qemu/three_layers.json" "$system/layers.json"
later=$("$here/package/later_version.sh" "$agent" "$system/later.deb")

# In the system, with its own /proc, in a network of loopback alone: what mounts there goes
# with the command, as do the processes that it leaves.
inside() {
  unshare --mount --pid --net --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && ip link set lo up &&
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$0" "$@"' "$system" "$@"
}
said() { # WORDS COMMAND…: what the command prints holds the words
  local words=$1
  shift
  inside "$@" >"$run/said" 2>&1 || true
  grep -qF -- "$words" "$run/said" || { cat "$run/said"; return 1; }
}

printf '== The host\n'
see "dpkg installs ${host##*/}" inside dpkg -i /host.deb
see "fettle --version" said "fettle $(dpkg-deb -f "$host" Version)" fettle --version
see "fettle devices --help" said --broker fettle devices --help
see "fettle tune --device local, 24 trials of three layers" \
  inside sh -c 'fettle tune /layers.json --device local --trials 24 --db /t.db >/tune.log 2>&1 || { tail -n 5 /tune.log; exit 1; }'
see "a correct best record of each layer" \
  inside sh -c 'test "$(fettle records best --db /t.db --json | grep -c "\"title\"")" = 3'
see "an image's folder takes the arm64 agent that came along" inside sh -c '
  mkdir -p /l4t/etc/systemd/system /l4t/usr/lib/systemd /l4t/var/lib && touch /l4t/etc/passwd /l4t/usr/lib/systemd/systemd /l4t/etc/os-release &&
  /usr/share/fettle/board_images/add_agent.sh /l4t --name jetson-1 --broker tcp://127.0.0.1:1 --broker-key 0 && test -x /l4t/usr/bin/fettle-agent'

printf '== The agent\n'
see "dpkg installs ${agent##*/}" inside dpkg -i /agent.deb
see "the service is enabled" test -L "$system/etc/systemd/system/multi-user.target.wants/fettle-agent.service"
see "the key is the agent's alone" said '600 fettle-agent' stat -c '%a %U' /var/lib/fettle/agent.key
see "unconfigured, it asks for a broker" said '--broker is needed' fettle-agent --config /etc/fettle/agent.toml --check-config
cat >"$system/register" <<'SCRIPT'
# The installed agent, as its user, registers with the installed broker.
set -e
fettle keys allow me "$(fettle keys new client 2>/dev/null)" --role client
fettle keys allow board "$(fettle-agent --make-key /var/lib/fettle/agent.key)" --role agent
fettle broker --json --listen tcp://127.0.0.1:9190 >/broker.log 2>&1 &
sleep 1
printf 'broker = "tcp://127.0.0.1:9190"\nbroker-key = "%s"\nkey-file = "/var/lib/fettle/agent.key"\n[[device]]\nkey = "board"\n' \
  "$(sed -n 's/^public //p' ~/.config/fettle/broker.key)" >/etc/fettle/agent.toml
setpriv --reuid=fettle-agent --regid=fettle-agent --clear-groups \
  fettle-agent --config /etc/fettle/agent.toml >/agent.log 2>&1 &
for i in $(seq 60); do
  if fettle devices --broker tcp://127.0.0.1:9190 2>/dev/null | tee /devices | grep -q '^board '; then
    cat /devices
    exit 0
  fi
  sleep 0.5
done
tail -n 5 /agent.log /broker.log
exit 1
SCRIPT
see "the agent registers with the installed broker, as its own user" inside bash /register

printf '== Upgrade, removal, purge\n'
key=$(sha256sum <"$system/var/lib/fettle/agent.key")
see "dpkg installs a later version" inside dpkg --force-confold -i /later.deb
see "it is that version" said "$later installed" dpkg-query -W -f '${Version} ${db:Status-Status}' fettle-agent
see "configuration and key are as they were" \
  test "$(sha256sum <"$system/var/lib/fettle/agent.key") $(grep -c 9190 "$system/etc/fettle/agent.toml")" = "$key 1"
see "dpkg removes the agent" inside dpkg -r fettle-agent
see "configuration and key stay" test -e "$system/etc/fettle/agent.toml" -a -e "$system/var/lib/fettle/agent.key"
see "dpkg purges it" inside dpkg -P fettle-agent
see "its user is gone" inside sh -c '! getent passwd fettle-agent'
see "configuration, key, service and program are gone" inside sh -c \
  'test -z "$(ls -d /etc/fettle /var/lib/fettle /etc/systemd/system/*/fettle-agent.service /usr/bin/fettle-agent 2>/dev/null)"'
see "dpkg purges the host" inside dpkg -P fettle
see "nothing of it is left" inside sh -c \
  'test -z "$(ls -d /usr/bin/fettle /usr/lib/fettle /usr/share/fettle 2>/dev/null)"'
if ((failed)); then die "not everything came true"; fi
printf 'the %s packages: all came true on a fresh %s\n' "$arch" "$suite"
