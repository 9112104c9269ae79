#!/usr/bin/env bash
# The agent's Debian package on a whole board: an emulated one with Debian, dpkg and
# systemd, over ssh. `./dev emulate BOARD --check-package` builds what it needs and calls
#
#   board_images/qemu/check_package.sh BOARD
#
# Installs, starts (the board registers with a broker of this run's own), pins
# clocks (where the kernel has a devfreq class), watches the watchdog bring back a hanging
# agent, upgrades, stops, removes and purges, installs once more by `fettle flash --ssh`, and
# then where add_agent.sh had put the agent before; prints a line for each thing looked at.
# Exit status 0 when all came true.
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"

board=${1:?usage: check_package.sh BOARD}
readonly name=$board-package
arch=$(board_value "$board" debian)
package=$(agent_package "$arch")
need ssh ssh-keygen dpkg-deb

open_session package
own_keys

readonly later=$run/later_$arch.deb
version=$("$here/package/later_version.sh" "$package" "$later")

ssh_key
printf '== A card with Debian for %s, without the agent\n' "$arch"
"$here/debian/disk.sh" "$arch" "$run/card" --ssh-key "$run/ssh_key.pub"

start_broker 'tcp://127.0.0.1:*'
port=$((20000 + RANDOM % 10000))
FETTLE_EMULATE_LIMIT=900 "$here/qemu/emulate.sh" "$board" --disk "$run/card" --broker "$broker" --name "$name" \
  --ssh "$port" --console "$run/console" --for 1200 >"$run/emulate.log" 2>&1 &
pids+=($!)
on_board() { ssh_to "$port" "$@"; }
printf '== Starting it\n'
start=$SECONDS
until_true 300 on_board true 2>/dev/null || {
  tail -n 20 "$run/emulate.log" "$run/console" >&2
  die "the $board did not let us in by ssh within $((SECONDS - start)) s"
}
printf '   in by ssh after %d s: %s, systemd %s, dpkg %s\n' $((SECONDS - start)) \
  "$(on_board uname -srm)" "$(on_board "systemctl --version | sed -n 's/^systemd \([0-9]*\).*/\1/p'")" \
  "$(on_board "dpkg-query -W -f '\${Version}' dpkg")"

# The emulated machine has no clock that can be set: a file system of files stands for a GPU's.
readonly gpu=/sys/class/devfreq/ff9a0000.gpu
pins=0
if on_board "cd ${gpu%/*} && mount -t tmpfs -o mode=755 gpu ${gpu%/*} && mkdir $gpu &&
  echo 200000000 >$gpu/min_freq && echo 800000000 >$gpu/max_freq" 2>/dev/null; then pins=1; fi
see_clocks() { # WHAT MIN MAX, where there is one
  if ((pins)); then see "$1" board_says "paste -d' ' $gpu/min_freq $gpu/max_freq" "$2 $3"; fi
}

board_says() { [[ $(on_board "$1") == "$2" ]]; }
main_pid() { on_board 'systemctl show -P MainPID fettle-agent'; }
another_pid() { local now; now=$(main_pid) && [[ $now != 0 && $now != "$1" ]]; }

printf '== Install\n'
on_board 'cat >first.deb' <"$package"
on_board 'cat >later.deb' <"$later"
see "dpkg installs ${package##*/}" on_board DEBIAN_FRONTEND=noninteractive dpkg -i first.deb
see "the service is enabled" board_says 'systemctl is-enabled fettle-agent' enabled
see "it waits for a broker's name" board_says 'systemctl is-active fettle-agent || true' inactive
see "the key is the agent's alone" board_says 'stat -c "%a %U" /var/lib/fettle/agent.key' '600 fettle-agent'

printf '== Start\n'
board_broker=$(as_board_sees "$broker")
"$fettle" keys allow "$name" "$(on_board fettle-agent --make-key /var/lib/fettle/agent.key)" --role agent
on_board 'cat >/etc/fettle/agent.toml' <<TOML
broker = "$board_broker"
broker-key = "$broker_key"
key-file = "/var/lib/fettle/agent.key"
emulated = true
pin-clocks = "max"
[[device]]
key = "$board"
TOML
see "systemctl restart" on_board systemctl restart fettle-agent
see "active, as its own user" board_says "systemctl is-active fettle-agent; ps -o user:20= -p \$(systemctl show -P MainPID fettle-agent)" $'active\nfettle-agent'
see "the board registers" until_true 60 registered "$name"
see_clocks "its clocks are pinned" 800000000 800000000

printf '== A session under the unit\n'
printf '   systemd-analyze security: %s\n' \
  "$(on_board systemd-analyze --no-pager security fettle-agent | sed -n 's/.*[Oo]verall exposure level.*: *//p')"
strict() { [[ $("$fettle" devices --broker "$broker" --json | grep -o '"sandbox":"[A-Za-z]*"') == '"sandbox":"Strict"' ]]; }
see "the sandbox is strict under it" strict
readonly trials=24
tune() {
  "$fettle" tune "$here/qemu/three_layers.json" --device "$board" --broker "$broker" --broker-key "$broker_key" \
    --trials "$trials" --timeout 60 --scheduler round-robin --seed 1 --json --db "$run/tune.db" >"$run/trials" 2>"$run/tune.log" ||
    { tail -n 5 "$run/tune.log"; return 1; }
}
see "a session of $trials trials ends well" tune
every_layer() { (($("$fettle" records best --db "$run/tune.db" --json | wc -l) == 3)); }
see "each of its three layers has a record" every_layer
tail -n 1 "$run/trials"
pid=$(main_pid)
on_board systemctl kill --kill-whom=main --signal=STOP fettle-agent
see "the watchdog ends an agent that hangs" until_true 100 another_pid "$pid"
see "and it registers again" until_true 60 registered "$name"
pid=$(main_pid)
on_board systemctl kill --signal=KILL fettle-agent
see "killed with all its processes, it comes back" until_true 100 another_pid "$pid"
see "and registers" until_true 60 registered "$name"

printf '== Upgrade\n'
pid=$(main_pid)
key=$(on_board cat /var/lib/fettle/agent.key | sha256sum)
see "dpkg installs a later version" on_board DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i later.deb
see "it is that version" board_says "dpkg-query -W -f '\${Version} \${db:Status-Status}' fettle-agent" "$version installed"
see "the service was restarted" another_pid "$pid"
see "the board's configuration is as it was" on_board "grep -qF -e '$broker_key' /etc/fettle/agent.toml"
see "its key, too" test "$(on_board cat /var/lib/fettle/agent.key | sha256sum)" = "$key"
see "the board registers" until_true 60 registered "$name"

printf '== Stop, removal, purge\n'
see "systemctl stop" on_board systemctl stop fettle-agent
see "no process is left" board_says 'pgrep -c fettle-agent || true' 0
see_clocks "the clocks are as they were before the first start" 200000000 800000000
on_board systemctl start fettle-agent
see "dpkg removes it" on_board dpkg -r fettle-agent
see "the service is gone" board_says 'systemctl is-active fettle-agent || true' inactive
see "no process is left" board_says 'pgrep -c fettle-agent || true' 0
see "configuration and key stay" on_board test -e /etc/fettle/agent.toml -a -e /var/lib/fettle/agent.key
see "dpkg purges it" on_board dpkg -P fettle-agent
see "configuration, key and state are gone" on_board 'test -z "$(ls -d /etc/fettle /var/lib/fettle /run/fettle /etc/systemd/system/*/fettle-agent.service 2>/dev/null)"'
see "its user is gone" on_board '! getent passwd fettle-agent'
see "systemd has no failed unit of it" on_board '! systemctl --failed --plain --no-legend | grep fettle'
printf '== fettle flash --ssh\n'
flash() {
  "$fettle" flash --ssh root@127.0.0.1 --ssh-command "${ssh_words[*]} -p $port" \
    --broker "$broker" --broker-key "$broker_key" --board-broker "$board_broker" --package "$package" \
    --key "$board" --set 'emulated = true'
}
refused() { ! flash 2>"$run/said" && grep -q "keys revoke $name" "$run/said"; }
see "refuses, as the name is that of the key which was purged" refused
see "nothing was installed" on_board '! dpkg-query -s fettle-agent 2>/dev/null'
"$fettle" keys revoke "$name"
see "installs, lets the new key in, starts, sees the board register" flash
see "active" board_says 'systemctl is-active fettle-agent' active
see "it is among the broker's devices" registered "$name"
see "once more, with the key that it has now" flash
see "no file is left in /tmp" on_board '! ls /tmp/fettle-agent.* 2>/dev/null'
see "dpkg purges it" on_board dpkg -P fettle-agent
see "nothing is left in /etc/fettle" on_board '! test -e /etc/fettle'

printf '== On what add_agent.sh puts into an image\n'
missed() { ! registered "$name"; }
see "the broker misses the board" until_true 60 missed
# It is the board of the key that was purged with the package; the image brings another.
"$fettle" keys revoke "$name"
readonly tree=$run/tree
mkdir -p "$tree"/{etc,lib/systemd,var/lib}
on_board cat /etc/os-release >"$tree/etc/os-release"
on_board head -c 64 /lib/systemd/systemd >"$tree/lib/systemd/systemd"
"$here/add_agent.sh" "$tree" --package "$package" --name "$name-image" --broker "$board_broker" \
  --broker-key "$broker_key" --key "$board" --set 'emulated = true' >/dev/null
rm "$tree/etc/os-release" "$tree/lib/systemd/systemd"
as_image() {
  tar -C "$tree" --owner=root:0 --group=root:0 -c . |
    on_board 'tar -C / --no-overwrite-dir --keep-directory-symlink -xp && systemctl daemon-reload && systemctl start fettle-agent'
}
see "the service starts, as in an image" as_image
see "the board registers" until_true 60 registered "$name"
see "its user is systemd's own" on_board '! grep -q ^fettle-agent: /etc/passwd && test -L /var/lib/fettle'
pid=$(main_pid)
see "dpkg installs ${package##*/} over it" on_board DEBIAN_FRONTEND=noninteractive dpkg --force-confold -i first.deb
see "the service was restarted" another_pid "$pid"
see "the key is the image's, and the agent's alone" board_says 'stat -c "%a %U" /var/lib/fettle/agent.key; cat /var/lib/fettle/agent.key' \
  "600 fettle-agent"$'\n'"$(cat "$FETTLE_HOME/$name-image.key")"
see "the board registers" until_true 60 board_says 'systemctl show -P StatusText fettle-agent' "registered with $board_broker"
see "dpkg purges it" on_board dpkg -P fettle-agent
see "nothing of either is left" on_board 'test -z "$(ls -d /etc/fettle /var/lib/fettle /var/lib/private/fettle /run/fettle /etc/systemd/system/*fettle* /etc/systemd/system/*/*fettle* 2>/dev/null)"'
if ((failed)); then die "not everything came true on the $board"; fi
printf 'the %s package: all came true on the %s\n' "$arch" "$board"
