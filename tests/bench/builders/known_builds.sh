#!/usr/bin/env bash
# How many programs of a session the broker knows from another user's: a broker, this machine's agent
# and one build worker of two compilers, on loopback; then sessions of one network by turns, all of
# whose programs the worker is asked for.   known_builds.sh [NETWORK [TRIALS]]
# Prints for each session what it asked for and what of that was known.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

readonly network=${1:-resnet-18} trials=${2:-300} bin=$PWD/build/bin
folder=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap cleanup EXIT
export FETTLE_HOME=$folder/first

allow() { "$bin/fettle" keys allow "$1" "$2" --role "$3" >/dev/null; }
new_key() { "$bin/fettle" keys new "$1" 2>/dev/null | head -c 40; }
allow first "$(new_key client)" client
allow board "$(new_key board)" agent
allow builder "$(new_key builder)" builder
allow second "$(FETTLE_HOME=$folder/second new_key client)" client

"$bin/fettle" broker --json --listen 'tcp://127.0.0.1:*' --metrics 0 >"$folder/broker.json" &
pids+=($!)
for _ in {1..100}; do [[ -s $folder/broker.json ]] && break || sleep 0.1; done
said() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$folder/broker.json" "$1"; }
url=$(said endpoint) key=$(said public_key) port=$(said metrics_port)
"$bin/fettle-agent" --broker "$url" --broker-key "$key" --key-file "$FETTLE_HOME/board.key" \
  --key bench 2>"$folder/agent.log" &
pids+=($!)
"$bin/fettle" build-worker --broker "$url" --builders 2 2>"$folder/worker.log" &
pids+=($!)
for _ in {1..100}; do
  listed=$("$bin/fettle" devices --broker "$url")
  [[ $listed == *bench* && $listed == *build:* ]] && break || sleep 0.1
done

known_before=0 submitted_before=0
for session in "first 0" "second 0" "second 1"; do
  read -r user seed <<<"$session"
  measured=$(FETTLE_HOME=$folder/$user "$bin/fettle" tune "$network" --trials "$trials" --seed "$seed" \
    --device bench --broker "$url" --broker-key "$key" --build-on workers --db "$folder/$user.$seed.db" \
    --repeat 3 --min-repeat-ms 1 --json 2>"$folder/tune.log" | grep -c '"event":"trial"')
  sleep 2 # the broker's numbers are taken once a second
  read -r known submitted < <("$bin/fettle" broker --status --json --metrics "$port" |
    python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["known_builds"], s["submitted"])')
  printf '%s user, seed %s: %d trials, %d programs and measurements asked for, %d programs known\n' \
    "$user" "$seed" "$measured" $((submitted - submitted_before)) $((known - known_before))
  known_before=$known submitted_before=$submitted
done
