#!/usr/bin/env bash
# The packages of this machine's architecture, the agent's and the host's, in a fresh system of
# this machine's own release. No systemd runs there: that the service starts is seen on emulated
# boards (qemu/check_package.sh). Needs root. `./dev packages --check` builds what it needs and calls it.
#
#   board_images/package/check_packages.sh
#
# Installs, lets the agent register with a broker of this run's own, upgrades, removes,
# purges; installs the host's, tunes with it and its own agent, upgrades, removes, purges. Prints a line for each
# thing looked at. Exit status 0 when all came true.
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/../qemu/session.sh"

[[ $(id -u) == 0 ]] || die "a chroot needs root"
need mmdebstrap dpkg-deb unshare
arch=$(dpkg --print-architecture)
package=$(agent_package "$arch")
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/{debian,ubuntu}.sources; do
  if [[ -s $file ]]; then sources=("$file"); fi
done

open_session packages
chmod 711 "$run" # the agent's user, and apt's, pass through
own_keys
readonly system=$run/system name=package-check
host=$(compgen -G "$root/build/packages/fettle_*_$arch.deb" | sort -V | tail -n 1) || die "no package of the host: ./dev packages host"
# The names in their Depends, without versions.
depends=$(for deb in "$package" "$host"; do dpkg-deb -f "$deb" Depends; done |
  tr ',' '\n' | sed 's/[(|].*//; s/ //g' | sort -u | paste -sd,)
printf '== A fresh %s for %s, with %s\n' "$suite" "$arch" "$depends"
(umask 022 && mmdebstrap --quiet --variant=minbase --include="$depends" "$suite" "$system" "${sources[@]}") \
  >"$run/log" 2>&1 || { tail -n 20 "$run/log" >&2; die "could not make the system"; }
cp "$package" "$system/first.deb"
cp "$host" "$system/host.deb"
cp "$here/qemu/three_layers.json" "$system/"
version=$("$here/package/later_version.sh" "$package" "$system/later.deb")
host_version=$("$here/package/later_version.sh" "$host" "$system/later_host.deb")

# In the system; its mounts and host name are the command's own, and go with it.
readonly inside=(unshare --mount --uts bash -c '
  hostname "$1" && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && shift &&
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$0" "$@"'
  "$system" "$name")
inside() { "${inside[@]}" "$@"; }
said() { # WORDS COMMAND…: what the command prints holds the words
  local words=$1
  shift
  inside "$@" >"$run/said" 2>&1 || true
  grep -qF -- "$words" "$run/said" || { cat "$run/said"; return 1; }
}

printf '== Install\n'
see "dpkg installs ${package##*/}" inside dpkg -i /first.deb
see "the service is enabled" test -L "$system/etc/systemd/system/multi-user.target.wants/fettle-agent.service"
see "the way to the FPGA, too" test -L "$system/etc/systemd/system/sockets.target.wants/fettle-fpga.socket"
see "the key is the agent's alone" said '600 fettle-agent' stat -c '%a %U' /var/lib/fettle/agent.key
see "unconfigured, it asks for a broker" said '--broker is needed' fettle-agent --config /etc/fettle/agent.toml --check-config

printf '== Start\n'
start_broker 'tcp://127.0.0.1:*'
"$fettle" keys allow "$name" "$(inside fettle-agent --make-key /var/lib/fettle/agent.key)" --role agent
cat >"$system/etc/fettle/agent.toml" <<TOML
broker = "$broker"
broker-key = "$broker_key"
key-file = "/var/lib/fettle/agent.key"
[[device]]
key = "board"
TOML
"${inside[@]}" setpriv --reuid=fettle-agent --regid=fettle-agent --clear-groups \
  fettle-agent --config /etc/fettle/agent.toml 2>"$run/agent.log" &
pids+=($!)
see "as its own user, it registers" until_true 30 registered "$name"
if ((failed)); then tail -n 5 "$run/agent.log"; fi
see "a session on it: 24 trials of three layers" "$fettle" tune "$here/qemu/three_layers.json" --device board \
  --broker "$broker" --trials 24 --quiet --db "$run/tuning.db"
kill "${pids[-1]}"
wait "${pids[-1]}" || true

printf '== Upgrade, removal, purge\n'
key=$(sha256sum <"$system/var/lib/fettle/agent.key")
see "dpkg installs a later version" inside dpkg --force-confold -i /later.deb
see "it is that version" said "$version installed" dpkg-query -W -f '${Version} ${db:Status-Status}' fettle-agent
see "configuration and key are as they were" \
  test "$(sha256sum <"$system/var/lib/fettle/agent.key") $(grep -cF -e "$broker_key" "$system/etc/fettle/agent.toml")" = "$key 1"
see "dpkg removes it" inside dpkg -r fettle-agent
see "configuration and key stay" test -e "$system/etc/fettle/agent.toml" -a -e "$system/var/lib/fettle/agent.key"
see "dpkg purges it" inside dpkg -P fettle-agent
see "its user is gone" inside sh -c '! getent passwd fettle-agent'
see "configuration, key, service and program are gone" inside sh -c \
  'test -z "$(ls -d /etc/fettle /var/lib/fettle /etc/systemd/system/*/fettle-agent.service /etc/systemd/system/*/fettle-fpga.socket /usr/bin/fettle-agent 2>/dev/null)"'

printf '== On a board whose image add_agent.sh prepared, and which has run\n'
# No systemd is there; its program's header tells the system's architecture.
mkdir -p "$system/lib/systemd"
cp "$system/bin/true" "$system/lib/systemd/systemd"
"$here/add_agent.sh" "$system" --package "$package" --name prepared --broker "$broker" --broker-key "$broker_key" >/dev/null
(umask 077 && mkdir -p "$system/var/lib/private")
mv "$system/var/lib/fettle" "$system/var/lib/private/fettle"
ln -s private/fettle "$system/var/lib/fettle"
see "dpkg installs ${package##*/}" inside dpkg --force-confold -i /first.deb
see "the board's key is the agent's, at its place" said "600 fettle-agent $(sed -n 's/^public //p' "$FETTLE_HOME/prepared.key")" sh -c \
  'echo "$(stat -c "%a %U" /var/lib/fettle/agent.key) $(sed -n "s/^public //p" /var/lib/fettle/agent.key)"'
see "the user is the package's own" inside sh -c 'grep -q ^fettle-agent: /etc/passwd && ! test -L /var/lib/fettle -o -e /etc/systemd/system/fettle-agent.service.d'
see "the broker of the image stays" said "$broker_key" cat /etc/fettle/agent.toml
see "dpkg purges it" inside dpkg -P fettle-agent
see "nothing of it is left" inside sh -c \
  'test -z "$(ls -d /etc/fettle /var/lib/fettle /var/lib/private/fettle /etc/systemd/system/*/*fettle* /etc/systemd/system/*fettle* /usr/bin/fettle-agent 2>/dev/null)"'

printf '== The host\n'
see "dpkg installs ${host##*/}" inside dpkg -i /host.deb
see "it tells its version" said "$(dpkg-deb -f "$host" Version)" fettle --version
see "it tunes with the agent that it brings" inside fettle tune /three_layers.json --device local \
  --trials 24 --quiet --db /root/tuning.db
see "and reads what it measured" said 'GFLOPS' fettle records best --db /root/tuning.db
see "dpkg installs a later version" inside dpkg -i /later_host.deb
see "it is that version" said "$host_version installed" dpkg-query -W -f '${Version} ${db:Status-Status}' fettle
see "it runs" inside fettle records best --db /root/tuning.db
see "dpkg removes it" inside dpkg -r fettle
see "programs and documents are gone" inside sh -c '! ls -d /usr/lib/fettle /usr/bin/fettle /usr/share/doc/fettle 2>/dev/null'
see "the records stay" test -e "$system/root/tuning.db"
see "dpkg purges it" inside dpkg -P fettle
see "dpkg knows it no more" inside sh -c '! dpkg-query -s fettle 2>/dev/null'
see "nothing of it is left" inside sh -c '! ls -d /usr/lib/fettle /usr/bin/fettle /usr/share/doc/fettle 2>/dev/null'

if ((failed)); then die "not everything came true"; fi
printf 'the %s packages: all came true on a fresh %s\n' "$arch" "$suite"
