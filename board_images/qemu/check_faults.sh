#!/usr/bin/env bash
# Faults of boards in the middle of a tuning session: two emulated boards with Debian share
# one session while one is switched off and on, the other loses its network for a minute,
# a disk fills up, and a clock jumps by an hour. In the end every trial must be there,
# once, and none may have failed, but for samples that this machine's other work
# disturbed. `./dev emulate BOARD --check-faults` builds what it needs and calls
#
#   board_images/qemu/check_faults.sh BOARD [--trials N] [--out FOLDER]
#
#   --trials   over three layers of ResNet-18 (default 300)
#   --out      where the database stays (default out/faults/BOARD)
# shellcheck source=board_images/qemu/session.sh
source "$(dirname "${BASH_SOURCE[0]}")/session.sh"

board=${1:?usage: check_faults.sh BOARD [--trials N] [--out FOLDER]}
shift
trials=300 out=$root/out/faults/$board
while (($#)); do
  (($# > 1)) || die "$1 needs a value"
  case $1 in
    --trials) trials=$2 ;;
    --out) out=$2 ;;
    *) die "unknown option '$1' (--trials, --out)" ;;
  esac
  shift 2
done
need ssh ssh-keygen socat
arch=$(board_value "$board" debian)
key=$(board_value "$board" key)
package=$(agent_package "$arch")

open_session faults
own_keys
start_broker 'tcp://127.0.0.1:*'
mkdir -p "$out"
rm -f "$out"/faults.db*

ssh_key
"$here/debian/disk.sh" "$arch" "$run/card" --package "$package" --ssh-key "$run/ssh_key.pub"
port=$((20000 + RANDOM % 10000))
start_board() { # NUMBER
  local name=$board-$1
  cp --sparse=always "$run/card" "$run/$name.card"
  "$here/add_agent.sh" "$run/$name.card" --name "$name" --broker "$(as_board_sees "$broker")" \
    --broker-key "$broker_key" --key "$key" --set 'emulated = true' >/dev/null
  FETTLE_EMULATE_LIMIT=600 "$here/qemu/emulate.sh" "$board" --disk "$run/$name.card" --keep --broker "$broker" \
    --broker-key "$broker_key" --name "$name" --ssh $((port + $1)) --monitor "$run/$name.monitor" \
    --pid-file "$run/$name.pid" --console "$run/$name.console" >"$run/$name.log" 2>&1 &
  pids+=($!)
}
on_board() { # NUMBER COMMAND…
  local to=$((port + $1))
  shift
  ssh_to "$to" "$@"
}
network() { echo "set_link net $2" | socat - "unix-connect:$run/$board-$1.monitor" >/dev/null; }

printf '== Two boards\n'
for number in 1 2; do start_board "$number"; done
for number in 1 2; do
  until_true 400 registered "$board-$number" || { tail -n 20 "$run"/*.log >&2; die "board $number did not register"; }
  until_true 120 on_board "$number" true || die "no ssh to board $number"
done

"$fettle" tune "$here/qemu/three_layers.json" --device "$key" --broker "$broker" --broker-key "$broker_key" \
  --trials "$trials" --scheduler round-robin --searcher random --seed 1 --json --timeout 60 \
  --db "$out/faults.db" >"$run/trials" 2>"$run/tune.log" &
readonly session=$!
pids+=("$session")
done_trials() { grep -c '"event":"trial"' "$run/trials" || true; }
more_than() { (($(done_trials) > $1)) || ! kill -0 "$session" 2>/dev/null; }
# fault WHAT COMMAND…: after some more trials; the session must go on afterwards
fault() {
  local what=$1 before
  shift
  before=$(done_trials)
  until_true 300 more_than $((before + 8)) || die "no trials come any more (before: $what)"
  kill -0 "$session" 2>/dev/null || die "the session ended before: $what (take more --trials)"
  printf '   after %3d trials: %s\n' "$(done_trials)" "$what"
  "$@" || die "failed: $what"
}
gone() { ! registered "$board-$1"; }
# Trials since BEFORE, all of the other board; there must be some.
meanwhile() { # BEFORE
  local trials=$(($(done_trials) - $1))
  printf '   trials meanwhile, by the other board: %d\n' "$trials"
  ((trials > 0)) || die "the other board did not go on"
}
switched_off() {
  local before
  before=$(done_trials)
  kill -USR1 "$(cat "$run/$board-1.pid")"
  until_true 120 gone 1 || die "the broker did not miss the first board"
  until_true 400 registered "$board-1" || die "the first board did not come back"
  meanwhile "$before"
  until_true 120 on_board 1 true || die "no ssh to the first board"
}
network_gone() {
  local before
  local start=$SECONDS
  network 2 off
  until_true 30 gone 2 || die "the broker did not miss the second board: was its network cut?"
  before=$(done_trials)
  sleep $((60 - (SECONDS - start)))
  meanwhile "$before"
  gone 2 || die "the second board was there without a network"
  network 2 on
  until_true 120 registered "$board-2" || die "the board did not come back"
}
printf '== Tuning on both\n'
fault "the first board is switched off and on" switched_off
fault "the second loses its network for a minute" network_gone
# What root may take beyond the others, too; by allocation, since to write it takes minutes.
disk_full() {
  on_board 2 'for mib in 1024 512 256 128 64 32 16 8 4 2 1; do fallocate -l ${mib}M /full.$mib 2>/dev/null; done
    dd if=/dev/zero of=/full bs=4k 2>/dev/null
    df / | tail -n 1
    test "$(df --output=avail / | tail -n 1)" -eq 0 && systemctl restart fettle-agent'
}
fault "the second board's disk is full" disk_full
fault "the first board's clock jumps by an hour" on_board 1 \
  'systemctl stop systemd-timesyncd; before=$(date +%s); date -s "+1 hour" >/dev/null; test $(($(date +%s) - before)) -ge 3600'
fault "and back by two" on_board 1 'date -s "-2 hours" >/dev/null'
status=0
wait "$session" || status=$?
((status == 0)) || { tail -n 5 "$run/tune.log" >&2; die "the session ended with $status"; }

printf '== What is in the database\n'
cp "$run/trials" "$out/trials.jsonl"
"$fettle" records export --db "$out/faults.db" | grep '"kind":"trial"' >"$run/rows" || true
rows=$(wc -l <"$run/rows")
twice=$(grep '"event":"trial"' "$run/trials" | sed 's/.*"configuration":\(.*\),"elapsed_s".*"task":\([0-9]*\),.*/\2 \1/' | sort | uniq -d | wc -l)
disturbed=$(grep -c '"failure":{"code":"Disturbed"' "$run/trials" || true)
lost=$(($(grep -c '"failure":{' "$run/trials" || true) - disturbed))
grep -o '"failure":{[^}]*}' "$run/trials" | sort | uniq -c | head -n 5 || true
printf '%d trials asked, %d there, %d twice, %d disturbed, %d failed; by board: %s\n' \
  "$trials" "$rows" "$twice" "$disturbed" "$lost" \
  "$(grep '"event":"trial"' "$run/trials" | sed -n 's/.*"board":"\([^"]*\)".*/\1/p' | sort | uniq -c | tr -s ' \n' ' ')"
((rows == trials && twice == 0 && lost == 0)) || die "not every trial is there once"
